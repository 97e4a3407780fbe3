"""Made-up stores of any size, for tools that measure what working on them costs."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pytest_ngraph import store
from pytest_ngraph.artifact import Model, Target
from pytest_ngraph.case import Case
from pytest_ngraph.machine import provenance
from pytest_ngraph.record import Agreement, Record
from pytest_ngraph.report import study
from pytest_ngraph.settings import Settings
from pytest_ngraph.store import SCHEMA, SUFFIX

DEVICES = ("xeon", "gpu", "orin")
A_NIGHT, ON_DEVICES = 8_000, 20
"""Records of a night, and its devices."""
GAINS = {"identity": 1.0, "torchscript": 1.1, "onnxruntime": 1.3, "openvino": 1.6, "tvm": 0.9, "tensorrt": 2.0}
BATCH_SIZES = (1, 2, 4, 8, 16)
DEPTHS = range(1, 7)
TARGET, SETTINGS = Target(), Settings()
"""Target and settings of every record."""


def write(folder: Path, count: int, rounds: int, *, nights: bool = False) -> None:
    """Write a store with outlines and rows, as sessions leave them, unless the folder has it from an earlier call."""
    if not folder.exists():
        with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
            whole = Path(scratch, folder.name)
            whole.mkdir()
            for number, (run, (devices, every)) in enumerate(plan(count, nights=nights).items()):
                write_run(whole, run, devices, every, rounds, number if nights else 0)
            whole.rename(folder)
    for name in store.run_ids(folder):
        store.outlined(folder, name)
        study.keep_rows(folder / (name + SUFFIX))


def write_store(folder: Path, count: int, rounds: int) -> None:
    """Write a store of `count` records, with a run for each device."""
    for run, (devices, every) in plan(count).items():
        write_run(folder, run, devices, every, rounds)


def plan(count: int, *, nights: bool = False) -> dict[str, tuple[Sequence[str], list[Case]]]:
    """Return the devices and the cases of each run of a store of `count` records.

    A run for each device; or two nights or more, each with the same cases on every device.
    """
    if not nights:
        return {
            f"2026010{number}-000000-1": ([device], list(cases(device, count // len(DEVICES))))
            for number, device in enumerate(DEVICES)
        }
    devices = [f"device{number}" for number in range(ON_DEVICES)]
    number_of_nights = max(2, count // A_NIGHT)
    every = [case for device in devices for case in cases(device, count // number_of_nights // ON_DEVICES)]
    return {f"{20260000 + night:08}-000000-1": (devices, every) for night in range(number_of_nights)}


def write_run(
    folder: Path, run: str, devices: Sequence[str], every: Iterable[Case], rounds: int, number: int = 0
) -> None:
    """Write a run of these cases; `number` makes its times other than those of another run."""
    random = np.random.default_rng(number)
    template = Record(
        case=Case(workload="", compiler="identity", batch_size=1),
        outcome="measured",
        stable=True,
        agreement=Agreement(error=1e-6, tolerance=1e-4),
        cpu_percent=50.0,
        worker_memory_bytes=2**30,
        model=Model(parameters=10_000_000, mult_adds=10**9, flops=2 * 10**9),
    ).to_dict()
    with (folder / (run + SUFFIX)).open("w") as file:
        environment = {"processor": devices[0], "fingerprint": devices[0]}
        lines: list[dict[str, Any]] = [{"schema": SCHEMA, "run": run, "environment": environment}]
        lines += [{"device": each, "environment": environment | {"fingerprint": each}} for each in devices[1:]]
        file.writelines(json.dumps(line) + "\n" for line in lines)
        for case in every:
            seconds = median_s(case) * np.exp(random.normal(0, 0.01, rounds))
            data = {
                "case": case.to_dict(),
                "run": run,
                "started_at": float(number),
                "rounds": [[1, elapsed] for elapsed in seconds.tolist()],
                "compile_s": None if case.compiler == "identity" else 5.0,
                "follows_from": provenance.of_measuring(case, TARGET, SETTINGS, graph="program", files={}),
            }
            file.write(json.dumps({**template, **data}) + "\n")
        file.write(json.dumps({"ended": "whole"}) + "\n")


def cases(device: str, count: int) -> Iterator[Case]:
    """Yield `count` cases, alternately of a model and of a block of some width at six depths."""
    made = 0
    number = 0
    while made < count:
        number += 1
        sizes = [(None, None)] if number % 2 else [(depth, number) for depth in DEPTHS]
        for depth, width in sizes:
            for compiler in GAINS:
                for batch_size in BATCH_SIZES:
                    if made == count:
                        return
                    made += 1
                    yield Case(
                        workload="conv" if depth else f"nets:n{number}",
                        compiler=compiler,
                        batch_size=batch_size,
                        depth=depth,
                        width=width,
                        device=device,
                    )


def median_s(case: Case) -> float:
    """Return seconds per iteration: more for deeper blocks and larger batches, less under a better compiler."""
    return float(0.001 * (case.depth or 5) * case.batch_size**0.8 / GAINS[case.compiler])
