"""A goal is a question about a whole group: arms that are measured apart from the others cannot answer it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import plain
import pytest

from pytest_ngraph.bench import bench as benches
from pytest_ngraph.bench.bench import Bench
from pytest_ngraph.bench.rounds.goal import REACHED, Knowledge
from pytest_ngraph.bench.rounds.headroom import Headroom
from pytest_ngraph.case import Case
from pytest_ngraph.machine.devices import BUILT_IN
from pytest_ngraph.record import Record
from pytest_ngraph.settings import Goal, Settings

ONE, OTHER = (Case(workload="plain", compiler=f"mine:{name}", batch_size=1) for name in ("Exact", "CountsInNumPy"))


@pytest.fixture(autouse=True)
def workload(light_workers: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain.put_into(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))


def measured(cases: Sequence[Case], knowledge: Knowledge, goal: Goal = "best") -> list[Record]:
    """Measure with a precision target that no rounds reach."""
    settings = Settings(budget_s=0.3, round_s=0.005, warmup_s=0.01, precision_target=1e-9, goal=goal)
    with closing(Bench(settings, BUILT_IN["cpu"].target, knowledge=knowledge)) as bench:
        return list(bench.run(cases))


def test_a_group_of_one_answers_it_by_itself() -> None:
    [record] = measured([ONE], Knowledge(groups={ONE.group: 1}))
    assert (record.stopped, len(record.rounds)) == (REACHED, 12)


@pytest.mark.parametrize("goal", ["best", "rank", "threshold"])
def test_what_is_left_of_a_group_is_measured_until_it_is_precise(goal: Goal) -> None:
    [record] = measured([ONE], Knowledge(groups={ONE.group: 2}), goal)
    assert record.stopped == ""
    assert len(record.rounds) > 12


def test_so_is_each_part_of_a_group_that_does_not_fit_into_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benches, "Headroom", lambda: Headroom(iter([0.1, 0.9]).__next__))
    records = measured([ONE, OTHER], Knowledge())
    assert {record.stopped for record in records} == {""}
    assert all(len(record.rounds) > 12 for record in records)
