"""Results of pytest-benchmark: a file of `--benchmark-json` or `--benchmark-save` (`.benchmarks/*/0001_*.json`)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np

from pytest_ngraph.history.places import ENVIRONMENT
from pytest_ngraph.history.summary import Origin, Summary, case_named
from pytest_ngraph.stats import Estimate, median_interval
from pytest_ngraph.store.run import BRANCH, COMMIT


def wrote(data: Mapping[str, Any]) -> bool:
    """Return whether pytest-benchmark wrote this."""
    return "machine_info" in data and "benchmarks" in data


def event(data: Mapping[str, Any], file: Path) -> str:
    """Return what is in one file only: all of it. pytest-benchmark writes new files, and no file again."""
    del data
    return file.read_text(encoding="utf-8")


def results(data: Mapping[str, Any], file: Path) -> Iterator[tuple[Origin, Summary, str]]:
    """Yield the results of a file that have a time above 0; all are of one commit and one machine."""
    del file
    machine, commit = data["machine_info"], data.get("commit_info") or {}
    started = _seconds(data["datetime"])
    source = {COMMIT: f"{commit.get('id') or ''}{'+' if commit.get('dirty') else ''}", BRANCH: commit.get("branch")}
    origin = Origin(
        run="", environment=_environment(machine), source={name: str(text) for name, text in source.items() if text}
    )
    for found in data["benchmarks"]:
        name, latency = str(found["fullname"]), _latency(found["stats"])
        if latency is None:
            continue
        yield (
            origin,
            Summary(
                case_id=name,
                case=case_named(name, str(machine.get("node", ""))),
                outcome="measured",
                started_at=started,
                latency=latency,
            ),
            "",
        )


def _latency(stats: Mapping[str, Any]) -> Estimate | None:
    """Return the median with its interval: from all rounds, where they were saved, else from the quartiles.

    None for a median that is not a time above 0: the clock was too coarse, or the file is damaged.

    The latter is the notch of a box plot (McGill, Tukey and Larsen 1978): 1.57 interquartile ranges over the root of
    the number of rounds.
    """
    if samples := stats.get("data"):
        found = median_interval(np.array(samples, dtype=np.float64))
        return found if 0 < found.value < math.inf else None
    value = float(stats["median"])
    if not 0 < value < math.inf:
        return None
    reach = 1.57 * float(stats["iqr"]) / math.sqrt(stats["rounds"])
    return Estimate(value, value - reach, value + reach)


def _environment(machine: Mapping[str, Any]) -> dict[str, str]:
    cpu = machine.get("cpu") or {}
    implementation = machine.get("python_implementation") or "CPython"
    facts = {
        "fingerprint": machine.get("node"),
        "processor": cpu.get("brand_raw") or machine.get("processor"),
        "architecture": machine.get("machine"),
        "system": f"{machine.get('system', '')} {machine.get('release', '')}".strip(),
        "python": machine.get("python_version"),
        ENVIRONMENT: None if implementation == "CPython" else implementation,
    }
    return {name: str(text) for name, text in facts.items() if text}


def _seconds(text: str) -> float:
    """Return seconds since the epoch. Without a zone, the time is UTC's."""
    found = datetime.fromisoformat(text.replace("Z", "+00:00"))
    return (found if found.tzinfo else found.replace(tzinfo=timezone.utc)).timestamp()
