"""All cases of a stored run at once: the verdicts are those that a session gives one by one."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from synthetic import case, failed, measured, skipped

from pytest_ngraph import store
from pytest_ngraph.comparison import Comparison
from pytest_ngraph.gate import Rule, Verdict
from pytest_ngraph.gate.stored.whole_run import WholeRun
from pytest_ngraph.record import Contention, Record
from pytest_ngraph.stats import Floats
from pytest_ngraph.store import SCHEMA, Run
from pytest_ngraph.store.baselines import Baseline

COMPILERS = ("identity", "openvino", "tvm")
BATCH_SIZES = (1, 2, 4)
BEYOND = 1e40
"""Bounds of ratios that are so large say that nothing is known."""


def sequentially(head: Sequence[Record], runs: Sequence[Sequence[Record]]) -> dict[str, Verdict]:
    """Return the verdicts of a session's judge, which gets one record after another."""
    from pytest_ngraph.against.stored import StoredBase

    before = tuple(Run(id=str(number), records=tuple(records)) for number, records in enumerate(runs))
    judge = StoredBase(Baseline(name="v1", runs=before), 0.01, 0.01)
    judge.expect([record.case for record in head])
    for record in head:
        judge.judge(record)
    judge.conclude()
    return {each.case.id: each for each in judge.verdicts.values()}


def outlined(folder: Path, name: str, records: Sequence[Record]) -> store.Outline:
    folder.mkdir(exist_ok=True)
    lines: list[dict[str, Any]] = [{"schema": SCHEMA, "run": name, "environment": {}}]
    lines += [record.to_dict() for record in records]
    lines.append({"ended": "whole"})
    (folder / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return store.outlined(folder, name)


def at_once(folder: Path, head: Sequence[Record], runs: Sequence[Sequence[Record]]) -> WholeRun:
    before = [outlined(folder, f"before{number}", records) for number, records in enumerate(runs)]
    return WholeRun(outlined(folder, "head", head), before, Rule(margin=0.01, level=0.01), "baseline v1")


def verdicts(found: WholeRun, head: Sequence[Record]) -> dict[str, Verdict]:
    return {head[row].case.id: found.verdict(row) for row, name in enumerate(found.names) if name is not None}


def drawn(seed: int, run: int, groups: int, drift: float) -> list[Record]:
    """Return the records of a run in which much differs from case to case."""
    random = np.random.default_rng([seed, run])
    records = []
    for workload in range(groups):
        for batch_size in BATCH_SIZES:
            graph = f"graph{workload}" + ("changed" if random.random() < 0.2 else "")
            for compiler in COMPILERS:
                own = case(compiler, batch_size, workload=f"net{workload}")
                seconds = batch_size * np.exp(drift + random.choice([0.0, 0.0, 0.0, 0.1, 0.4, -0.4]))
                cores = int(random.choice([0, 2, 2, 2, 4]))
                record = measured(
                    own,
                    (seconds * np.exp(random.normal(0, 0.01, random.choice([1, 6, 15, 15, 15])))).tolist(),
                    contention=Contention(pressure_percent=float(random.choice([0, 0, 0, 50]))),
                    follows_from={
                        "graph": random.choice([graph, graph, graph, ""]).item(),
                        "workload": own.model_label,
                        "batch_size": batch_size,
                        "python": random.choice(["3.11", "3.11", "3.12"]).item(),
                        "files": {"a.py": "1"} if random.random() < 0.5 else {"a.py": "1", "b.py": "2"},
                        "target": {"cores": list(range(cores)) if cores else None},
                    },
                )
                if random.random() < 0.1:
                    record = dataclasses.replace(record, comparison=Comparison(same=True))
                if random.random() < 0.1:
                    record = skipped(own, "no such operator")
                if random.random() < 0.9:
                    records.append(record)
    return records


def same(one: Verdict, other: Verdict) -> None:
    numbers = ("ratio", "time", "p", "detectable", "margin", "confidence")
    texts = [{name: found for name, found in each.to_dict().items() if name not in numbers} for each in (one, other)]
    assert texts[0] == texts[1]
    for name in numbers:
        found, expected = getattr(one, name), getattr(other, name)
        assert (found is None) == (expected is None)
        if found is not None:
            assert exact(found) == pytest.approx(exact(expected), rel=1e-6, abs=1e-12)


def exact(numbers: float | Sequence[float]) -> Floats:
    """Return numbers; of those beyond any time, the logarithms, which are as exact as what they follow from."""
    found = np.atleast_1d(np.array(numbers, dtype=np.float64))
    return np.where(found > BEYOND, np.log(np.maximum(found, 1.0)), found)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    seed=st.integers(0, 10**6),
    runs=st.integers(1, 5),
    groups=st.integers(1, 6),
    drift=st.sampled_from([0.0, 0.0, 0.3, -0.3]),
)
def test_the_verdicts_are_those_of_a_session(tmp_path: Path, seed: int, runs: int, groups: int, drift: float) -> None:
    before = [drawn(seed, run, groups, 0.0) for run in range(runs)]
    head = drawn(seed, runs, groups, drift)
    expected = sequentially(head, before)
    found = at_once(tmp_path / "store", head, before)
    ours = verdicts(found, head)
    assert {name: each.name for name, each in ours.items()} == {name: each.name for name, each in expected.items()}
    assert [each.name for each in ours.values()] == [name for name in found.names if name is not None]
    for name, each in ours.items():
        same(each, expected[name])
    heads = {record.case.id for record in head}
    stored = {r.case.id for records in before for r in records if r.outcome == "measured" and r.comparison is None}
    last = {record.case.id: record.outcome for records in before for record in records}
    assert set(found.missing) == {each for each in stored - heads if last[each] == "measured"}


def test_a_case_that_fails_now_is_missing(tmp_path: Path) -> None:
    found = at_once(tmp_path, [failed(case("tvm"))], [[measured(case("tvm"), 1.0)]])
    assert (found.names, found.missing) == ([None], [case("tvm").id])


def test_a_failure_in_a_run_of_the_baseline_does_not_excuse_a_case(tmp_path: Path) -> None:
    own = case("tvm")
    for last, name in ((failed(own), "lost"), (skipped(own, "no such operator"), None)):
        before = [[measured(own, 1.0)], [last]]
        assert at_once(tmp_path / last.outcome, [skipped(own, "no such library")], before).names == [name]


def test_a_regression_leaves_more_of_the_level_to_the_cases_before_it(tmp_path: Path) -> None:
    one, two, new = (case("openvino", size) for size in (1, 2, 3))
    before = [[measured(each, 1.0) for each in (one, two)]]
    head = [measured(one, 1.25), measured(two, 3.0), measured(new, 1.0)]
    found = at_once(tmp_path, head, before)
    assert found.names == ["regressed", "regressed", "new"]
    assert found.names == [each.name for each in sequentially(head, before).values()]
