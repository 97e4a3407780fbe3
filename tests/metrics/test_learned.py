"""What earlier runs of the same code show of how much processes and sessions differ."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from synthetic import case, measured

from pytest_ngraph.metrics.between import IN_GENERAL, Between
from pytest_ngraph.metrics.learned import learned, timed
from pytest_ngraph.record import Record


def runs(process: float, session: float, count: int = 6, groups: int = 20, graph: str = "a") -> list[Record]:
    """Return the records of runs whose processes and days differ by these deviations."""
    random = np.random.default_rng(1)
    found = []
    for run in range(count):
        day = random.normal(0, session)
        for group in range(groups):
            for compiler in ("identity", "tvm", "openvino"):
                seconds = 0.01 * (1 + group) * math.exp(day + random.normal(0, process))
                of = case(compiler, workload=f"net{group}")
                found.append(measured(of, seconds, run=f"run{run}", follows_from={"graph": graph, "settings": run}))
    return found


def learned_from(records: list[Record]) -> Between:
    return learned(timed(records), IN_GENERAL)


def test_processes_and_sessions_are_separated() -> None:
    quiet, noisy = learned_from(runs(0.002, 0.01)), learned_from(runs(0.03, 0.01))
    assert quiet.process.deviation < IN_GENERAL.process.deviation < noisy.process.deviation
    assert noisy.process.deviation == pytest.approx(0.03, rel=0.1)
    drifting = learned_from(runs(0.002, 0.1))
    assert drifting.session.deviation > 2 * quiet.session.deviation
    assert drifting.process.deviation == pytest.approx(quiet.process.deviation, rel=0.05)


def test_many_runs_count_for_more_than_what_holds_in_general() -> None:
    found = learned_from(runs(0.002, 0.01))
    assert found.process.deviation == pytest.approx(0.002, rel=0.5)
    assert found.process.dof == 8
    assert found.source == "as in 6 runs of the same code here"
    few = learned_from(runs(0.002, 0.01, count=2, groups=1))
    assert found.process.deviation < few.process.deviation < IN_GENERAL.process.deviation


def test_a_single_run_teaches_nothing() -> None:
    assert learned_from(runs(0.1, 0.1, count=1)) == IN_GENERAL


def test_runs_of_other_code_are_not_compared() -> None:
    changed = [
        dataclasses.replace(record, follows_from={"graph": record.run}) for record in runs(0.002, 0.01, groups=3)
    ]
    assert learned_from(changed) == IN_GENERAL
    unknown = [dataclasses.replace(record, follows_from={}) for record in runs(0.002, 0.01, groups=3)]
    assert learned_from(unknown) == IN_GENERAL


def test_cases_that_some_runs_lack_are_compared_where_they_are() -> None:
    records = runs(0.002, 0.01, groups=2)
    kept = [each for each in records if not (each.case.compiler == "tvm" and each.run in ("run0", "run1"))]
    assert learned_from(kept).process.deviation < IN_GENERAL.process.deviation
    apart = [each for each in records if (each.case.compiler == "tvm") == (each.run in ("run0", "run1"))]
    assert learned_from(apart).session != IN_GENERAL.session
