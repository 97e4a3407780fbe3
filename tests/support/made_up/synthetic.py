"""Made-up records, for tests of rooms that only compute."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from pytest_ngraph.artifact import Model
from pytest_ngraph.case import Case
from pytest_ngraph.comparison import Comparison
from pytest_ngraph.load import Load, Rate
from pytest_ngraph.record import Failure, Record, Round


def case(compiler: str = "identity", batch_size: int = 1, **fields: Any) -> Case:
    return Case(**{"workload": "resnet18", "device": "xeon", **fields}, compiler=compiler, batch_size=batch_size)


def measured(of: Case, seconds: float | Sequence[float], rounds: int = 11, **fields: Any) -> Record:
    """Return a record whose samples are given, or all the same."""
    samples = [seconds] * rounds if isinstance(seconds, float) else seconds
    return Record(
        **{"outcome": "measured", "stable": True, **fields}, case=of, rounds=tuple(Round(1, s) for s in samples)
    )


def noisy(of: Case, seconds: float, spread: float = 0.01, rounds: int = 15, seed: int = 0, **fields: Any) -> Record:
    """Return a record whose samples scatter around `seconds`, with a relative standard deviation of about `spread`."""
    samples = seconds * np.exp(np.random.default_rng(seed).normal(0, spread, rounds))
    return measured(of, samples.tolist(), **fields)


def under_load(compiler: str, seconds: float, *shown: float) -> Record:
    """Return a record of a case under load whose rates show these highest ones, all within a limit of 100 ms."""
    rates = tuple(Rate(per_s=each, seconds=(0.001,) * 100, calls=100, shows=each) for each in shown)
    load = Load(limit_s=0.1, call_s=seconds, rates=rates)
    return measured(case(compiler, objective="serving"), seconds, load=load)


def overloaded(compiler: str, seconds: float, *shown: float) -> Record:
    """Return the record of a case that crashed under load, after rates that showed these highest ones."""
    record = under_load(compiler, seconds, *shown)
    assert record.load is not None
    return dataclasses.replace(record, load=dataclasses.replace(record.load, failed=True, problem="crashed: SIGSEGV"))


def failed(of: Case, message: str = "RuntimeError: no such operator\nsecond line", **fields: Any) -> Record:
    failure = Failure(**{"phase": "compile", "kind": "raised", **fields}, message=message)
    return Record(case=of, outcome="failed", failure=failure)


def unchanged(of: Case, **fields: Any) -> Record:
    """Return the record of a case that a gate did not measure, since nothing of it changed."""
    return dataclasses.replace(Record.unchanged(of, Comparison(against="main", same=True), Model()), **fields)


def skipped(of: Case, reason: str) -> Record:
    return Record(case=of, outcome="skipped", skip_reason=reason)
