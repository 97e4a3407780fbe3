"""Folders that serve with a made-up runtime, and made-up launches."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from pytest_ngraph.costs import Costs, ServingLaunch

SERVE = """
import os
{imported}

def load():
    {load}
    return []

def samples():
    return [1]

def answer(model, inputs):
    {answer}
    return inputs
"""
LAUNCH = ServingLaunch(
    cold_start_s=0.5,
    serving_import_s=0.3,
    serving_load_s=0.1,
    serving_first_call_s=0.01,
    serving_memory_bytes=100 * 2**20,
    serving_private_bytes=60 * 2**20,
    serving_peak_bytes=120 * 2**20,
)


def folder(path: Path, imported: str = "", load: str = "pass", answer: str = "pass") -> Path:
    """Write a folder whose `serve.py` executes these statements."""
    path.mkdir(parents=True, exist_ok=True)
    (path / "serve.py").write_text(SERVE.format(imported=imported, load=load, answer=answer))
    return path


def costs(*factors: float, artifact_bytes: int = 40 * 2**20, **fields: Any) -> Costs:
    """Return costs with a launch for each factor, by which everything is larger; six equal ones without any."""
    launches = []
    for factor in factors or (1.0,) * 6:
        figures = dataclasses.asdict(LAUNCH)
        whole = {name: type(value)(factor * value) for name, value in figures.items()}
        launches.append(ServingLaunch(**whole))
    known = {"install_bytes": 200 * 2**20, "launches": tuple(launches), "artifact_bytes": artifact_bytes}
    return Costs(**{**known, **fields})
