"""How well each rung is measured: what limits do not ask for is only shown."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest
from launched import costs
from synthetic import noisy

from pytest_ngraph import store
from pytest_ngraph.advise.limits import Limits
from pytest_ngraph.advise.measuring import Measuring
from pytest_ngraph.advise.race import FIRST_S
from pytest_ngraph.artifact import Target
from pytest_ngraph.case import Case
from pytest_ngraph.costs import Costs
from pytest_ngraph.record import Record
from pytest_ngraph.settings import Settings
from pytest_ngraph.store import Journal

CASES = [Case(workload="net", compiler=name, batch_size=1) for name in ("identity", "openvino", "onnxruntime")]


class Bench:
    """Notes the settings that it adopts. What it measures has these costs to serve."""

    def __init__(self, serving: Costs) -> None:
        self.adopted: list[Settings] = []
        self.measured: list[str] = []
        self._serving = serving

    def adopt(self, settings: Settings) -> None:
        self.adopted.append(settings)

    def run(self, cases: Sequence[Case]) -> Iterator[Record]:
        for case in cases:
            self.measured.append(case.compiler)
            follows_from = {"settings": {"budget_s": 5.0}, "tails_s": 1.0}
            yield noisy(case, 0.01, calls=(0.01,) * 100, serving=self._serving, follows_from=follows_from)


def measure(
    folder: Path, limits: Limits, *, resumed: bool = False, budget_s: float = 5.0, wanted: Sequence[Case] = CASES
) -> tuple[Settings, list[str]]:
    """Measure two rungs of a race, new or resumed. Return the settings of the second, and what the bench measured."""
    launches = costs().launches
    bench = Bench(dataclasses.replace(costs(), launches=launches[: None if limits.ask_costs else 1]))
    steps: Sequence[store.Step] = ()
    if resumed:
        (run,) = store.run_ids(folder)
        journal, steps = Journal.reopen(folder, run), store.read(folder, run).steps
    else:
        journal = Journal(folder, {})
    with closing(journal):
        to = Measuring(bench, set(), Settings(), lambda case: Target(), journal, steps, limits=limits)  # type: ignore[arg-type]
        to(CASES, FIRST_S, 300.0, ())
        to(CASES, budget_s, 300.0, wanted)
    return bench.adopted[-1], bench.measured


def test_the_first_rung_only_finds_who_is_much_slower(tmp_path: Path) -> None:
    rung, _ = measure(tmp_path, Limits(), budget_s=FIRST_S, wanted=())
    assert (rung.min_rounds, rung.warmup_s, rung.goal) == (6, 0.25, "precision")
    further, _ = measure(tmp_path, Limits(), budget_s=2 * FIRST_S, wanted=())
    assert (further.min_rounds, further.warmup_s, further.goal) == (8, 3.0, "best")
    assert (rung.precision_target, further.precision_target) == (0.05, 0.01)


def test_compiling_is_timed_only_of_compilers_as_they_are(tmp_path: Path) -> None:
    """From that follows what their options may take; seconds to compile are not part of the answer."""
    rung, _ = measure(tmp_path, Limits(), budget_s=FIRST_S, wanted=())
    assert rung.times_compiling
    assert rung.needs_compile_s
    further, _ = measure(tmp_path / "further", Limits())
    assert not further.times_compiling
    assert not further.needs_compile_s


@pytest.mark.parametrize("budget_s", [FIRST_S, 2 * FIRST_S, 5.0])
def test_what_is_sure_early_ends_early(budget_s: float, tmp_path: Path) -> None:
    """The first look at the rounds comes after a quarter of a rung, or earlier."""
    rung, _ = measure(tmp_path, Limits(), budget_s=budget_s)
    assert rung.min_rounds * rung.aim_s <= budget_s / 4


@pytest.mark.parametrize(
    ("limits", "leaders", "launches", "goal"),
    [
        (Limits(), 2, 1, "best"),
        (Limits(error=1e-3, throughput=1.0), 2, 1, "best"),
        (Limits(p99_s=1.0), None, 1, "rank"),
        (Limits(memory_bytes=1e9), None, None, "rank"),
        (Limits(cold_start_s=1.0), None, None, "rank"),
    ],
    ids=["none", "of rounds", "p99", "memory", "cold start"],
)
def test_costs_and_calls_are_measured_as_well_as_limits_need_them(
    limits: Limits, leaders: int | None, launches: int | None, goal: str, tmp_path: Path
) -> None:
    rung, _ = measure(tmp_path, limits)
    assert (rung.leaders, rung.serving_launches, rung.goal) == (leaders, launches, goal)
    assert rung.min_rounds == (8 if goal == "best" else 12)
    assert (rung.tails_s > 368 * 0.01) == (limits.p99_s is not None)


def test_costs_that_were_only_shown_are_measured_again_for_a_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pytest_ngraph.advise.measuring.staleness", lambda record, follows_from: [])
    every = [case.compiler for case in CASES]
    assert measure(tmp_path, Limits())[1] == 2 * every
    assert measure(tmp_path, Limits(), resumed=True)[1] == []
    assert measure(tmp_path, Limits(memory_bytes=1e9), resumed=True)[1] == every
    assert measure(tmp_path, Limits(memory_bytes=1e9), resumed=True)[1] == []
