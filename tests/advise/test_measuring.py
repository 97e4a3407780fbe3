"""A race that is interrupted and goes on decides as one that was not."""

from __future__ import annotations

import random
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from launched import costs
from racing import OPTIONS, MadeUpAxes
from synthetic import measured, noisy

from pytest_ngraph import store
from pytest_ngraph.advise.answer import answer
from pytest_ngraph.advise.limits import Limits
from pytest_ngraph.advise.measuring import Measuring, Waits
from pytest_ngraph.advise.race import Race, Raced
from pytest_ngraph.artifact import Target
from pytest_ngraph.bench.progress import Silent
from pytest_ngraph.case import Case
from pytest_ngraph.machine.devices import Device
from pytest_ngraph.metrics.between import IN_GENERAL
from pytest_ngraph.record import Agreement, Failure, Record
from pytest_ngraph.settings import Settings
from pytest_ngraph.store import Journal

COMPILERS = ("identity", "onnxruntime", "openvino", "torchscript", "tvm")
AXES = MadeUpAxes(
    case=Case(workload="net", compiler="identity", batch_size=1),
    compilers=COMPILERS,
    batch_sizes=(1, 4),
    precisions=("fp32",),
    devices=(Device(name="cpu"),),
    objective="latency",
)
LIMITS = Limits(throughput=0.1)


class Bench:
    """Measures in simulated time. What a case shows depends on how long it is measured: short rungs are noisy.

    Args:
        interrupted_after: as many records.
    """

    def __init__(self, seed: int, interrupted_after: int | None = None) -> None:
        self.now = 0.0
        self.measured: list[tuple[str, float]] = []
        self.asked: set[Case] = set()
        self.waits = Waits(Silent(), lambda case, phase: None, self.clock)
        self._seed = seed
        self._left = interrupted_after
        self._settings = Settings()
        self._seconds = random.Random(seed)
        names = [*COMPILERS, *(option for options in OPTIONS.values() for option in options)]
        self._of = {name: self._seconds.uniform(1.0, 1.3) for name in names}

    def clock(self) -> float:
        return self.now

    def adopt(self, adopted: Settings) -> None:
        self._settings = adopted

    def run(self, cases: Sequence[Case]) -> Iterator[Record]:
        budget_s = self._settings.budget_s
        self.now += 9.0 * len(cases)
        for case in cases:
            if self._left is not None:
                if self._left == 0:
                    raise KeyboardInterrupt
                self._left -= 1
            luck = random.Random(f"{self._seed} {case.id} {budget_s}").gauss(0, 0.15 / budget_s)
            seconds = self._of[case.compiler] * (3.0 if case.batch_size == 4 else 1.0) * (1 + max(-0.5, luck))
            self.measured.append((case.id, budget_s))
            yield noisy(
                case,
                seconds,
                spread=0.003,
                seed=zlib.crc32(f"{case.id} {budget_s}".encode()),
                started_at=self.now,
                compile_s=1.0,
                load_s=0.5,
                agreement=Agreement(error=1e-6, tolerance=1e-4),
                serving=costs(),
                follows_from={"settings": {"budget_s": budget_s}, "tails_s": self._settings.tails_s},
            )


class SlowTvm(Bench):
    """TVM compiles for five minutes, and is killed if it has less."""

    def run(self, cases: Sequence[Case]) -> Iterator[Record]:
        for record in super().run(cases):
            timeout_s = self._settings.timeout_s
            if record.case.compiler.startswith("tvm") and timeout_s < 300:
                failure = Failure(phase="compile", kind="timed out", message="killed")
                limits = {"budget_s": self._settings.budget_s, "timeout_s": timeout_s}
                yield replace(Record.failed(record.case, failure), follows_from={"settings": limits})
            else:
                yield record


def raced(
    folder: Path,
    bench: Bench,
    resumed: bool,
    budget_s: float = 400.0,
    axes: MadeUpAxes = AXES,
    limits: Limits = LIMITS,
) -> tuple[dict[str, object], float]:
    """Return the answer of a race, and the seconds that it took in all."""
    if resumed:
        (run,) = store.run_ids(folder)
        journal, earlier = Journal.reopen(folder, run), store.read(folder, run)
    else:
        journal, earlier = Journal(folder, {}), store.Run(id="")
    try:
        measure = Measuring(
            bench,  # type: ignore[arg-type]  # a stand-in with what is asked of it
            bench.asked,
            Settings(),
            lambda case: Target(),
            journal,
            earlier.steps,
            bench.waits,
            bench.clock,
            limits,
        )
        race = Race(axes, limits, measure, budget_s, clock=measure.elapsed_s)
        found = answer(race.run(), race.named, limits, IN_GENERAL, "a-run").to_dict()
        return found, measure.elapsed_s()
    finally:
        journal.close()


@settings(max_examples=8)
@given(seed=st.integers(0, 10**6), cut=st.integers(1, 30), budget_s=st.sampled_from((200.0, 400.0)))
def test_an_interrupted_race_decides_as_one_that_was_not(seed: int, cut: int, budget_s: float) -> None:
    """With 200 s, options that had no time at first are tried late."""
    with TemporaryDirectory() as one, TemporaryDirectory() as other, pytest.MonkeyPatch.context() as patch:
        patch.setattr("pytest_ngraph.advise.measuring.staleness", lambda record, follows_from: [])
        whole = Bench(seed)
        expected, seconds = raced(Path(one), whole, resumed=False, budget_s=budget_s)
        first, second = Bench(seed, interrupted_after=cut), Bench(seed)
        try:
            found, took = raced(Path(other), first, resumed=False, budget_s=budget_s)
        except KeyboardInterrupt:
            found, took = raced(Path(other), second, resumed=True, budget_s=budget_s)
        surely = {"sure", "doubts", "close"}  # sizes that were measured in two sessions are compared less surely
        assert {key: found[key] for key in {*found} - surely} == {key: expected[key] for key in {*expected} - surely}
        assert {*cast("list[str]", expected["close"])} <= {*cast("list[str]", found["close"])}
        if len({record.measured_in for record in store.read(Path(other)).records}) == 1:
            assert found == expected
        assert took == pytest.approx(seconds)
        steps = store.read(Path(other)).steps
        assert sum(len(step.records) for step in steps) == len(whole.measured)
        again = len(first.measured) + len(second.measured) - len(whole.measured)
        assert again < max(len(step.records) for step in steps), "at most the interrupted step is measured again"


def test_a_race_asked_another_question_measures_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pytest_ngraph.advise.measuring.staleness", lambda record, follows_from: [])
    first = Bench(1, interrupted_after=12)
    with pytest.raises(KeyboardInterrupt):
        raced(tmp_path, first, resumed=False)
    monkeypatch.setattr("pytest_ngraph.advise.measuring.staleness", lambda record, follows_from: ["a file changed"])
    second = Bench(1)
    found, _ = raced(tmp_path, second, resumed=True)
    assert found["pick"]
    assert len(second.measured) > len(first.measured), "nothing of the first session stands"


@pytest.mark.parametrize(("session", "sure"), [("", True), ("of today", False)])
def test_sizes_of_two_sessions_are_compared_less_surely(session: str, *, sure: bool) -> None:
    one, four = (replace(AXES.case, compiler="openvino", batch_size=size) for size in (1, 4))
    groups = [[measured(one, 0.01)], [measured(four, 0.0375, session=session)]]
    found = answer(Raced(groups=groups), {"openvino"}, LIMITS, IN_GENERAL)
    assert found.pick is not None
    assert (found.pick.case, found.is_sure) == (four, sure)


class OfAnotherDay(Bench):
    """The same machine, on which everything takes this many times as long."""

    def __init__(self, factor: float) -> None:
        super().__init__(1)
        self.groups: list[list[str]] = []
        true = dict.fromkeys(self._of, 1.4) | {"openvino": 1.0, "onnxruntime": 1.05, "onnxruntime:rewrite=true": 1.1}
        self._of = {name: factor * seconds for name, seconds in true.items()}

    def run(self, cases: Sequence[Case]) -> Iterator[Record]:
        self.groups.append([case.compiler for case in cases])
        return super().run(cases)


@pytest.mark.parametrize("factor", [0.7, 1.4])
def test_what_is_compared_was_measured_in_the_same_session(
    factor: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pytest_ngraph.advise.measuring.staleness", lambda record, follows_from: [])
    axes = replace(AXES, batch_sizes=(1,))
    found, _ = raced(tmp_path, OfAnotherDay(1.0), resumed=False, budget_s=50.0, axes=axes)
    assert "net-onnxruntime:rewrite=true-b1-cpu" in found["dropped"]  # type: ignore[operator]  # of JSON
    found, _ = raced(tmp_path, second := OfAnotherDay(factor), resumed=True, axes=axes)
    assert found["pick"] == "net-openvino-b1-cpu"
    assert second.groups
    assert all(group[0] == "identity" for group in second.groups)
    again, _ = raced(tmp_path, third := OfAnotherDay(1.0), resumed=True, axes=axes)
    assert (again, third.groups) == (found, []), "the steps that were measured last are those of the race"


def test_what_timed_out_is_measured_when_a_larger_budget_gives_it_more_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pytest_ngraph.advise.measuring.staleness", lambda record, follows_from: [])
    tvm = "net-tvm-b1-cpu"
    found, _ = raced(tmp_path, SlowTvm(1), resumed=False, budget_s=100.0)
    assert "longer than the budget had left" in found["dropped"][tvm]  # type: ignore[index]  # of JSON
    same, _ = raced(tmp_path, again := SlowTvm(1), resumed=True, budget_s=100.0)
    assert (same, again.measured) == (found, []), "with the same budget, the failure stands"
    found, _ = raced(tmp_path, SlowTvm(1), resumed=True, budget_s=4000.0)
    assert tvm in [each["case"] for each in found["candidates"]]  # type: ignore[attr-defined]  # likewise


class TimesCalls(Bench):
    """Calls take so many seconds; single calls of what is asked are timed for as long as the settings say."""

    def __init__(self, seconds: float) -> None:
        super().__init__(1)
        slower = {"identity": 1.5, "onnxruntime": 1.05, "torchscript": 1.3, "tvm": 1.4}
        self._of = {name: seconds * slower.get(name, 1.0) for name in self._of}

    def run(self, cases: Sequence[Case]) -> Iterator[Record]:
        for record in super().run(cases):
            if record.case not in self.asked:
                yield replace(record, serving=None)
                continue
            tails_s = self._settings.tails_s
            self.now += tails_s
            yield replace(record, calls=(record.latency_s,) * int(tails_s / record.latency_s))


def test_a_larger_budget_times_the_calls_that_were_too_few(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_ngraph.advise.measuring.staleness", lambda record, follows_from: [])
    axes, limits = replace(AXES, batch_sizes=(1,)), Limits(p99_s=0.8)
    found, _ = raced(tmp_path / "one", TimesCalls(0.08), resumed=False, budget_s=300.0, axes=axes, limits=limits)
    assert found["pick"] is None
    found, _ = raced(tmp_path / "one", TimesCalls(0.08), resumed=True, budget_s=3000.0, axes=axes, limits=limits)
    whole, _ = raced(tmp_path / "other", TimesCalls(0.08), resumed=False, budget_s=3000.0, axes=axes, limits=limits)
    assert found["pick"] == whole["pick"] == "net-openvino-b1-cpu"
    again, _ = raced(
        tmp_path / "one", idle := TimesCalls(0.08), resumed=True, budget_s=3000.0, axes=axes, limits=limits
    )
    assert (again, idle.measured) == (found, [])


def test_calls_are_timed_for_as_long_as_the_budget_allows(tmp_path: Path) -> None:
    axes, limits = replace(AXES, batch_sizes=(1,)), Limits(p99_s=10.0)
    found, seconds = raced(tmp_path, TimesCalls(0.4), resumed=False, budget_s=3600.0, axes=axes, limits=limits)
    assert found["pick"] == "net-openvino-b1-cpu"
    assert seconds < 3600


class BesideAnother(Bench):
    """Another session holds the machine for five minutes before each group."""

    def run(self, cases: Sequence[Case]) -> Iterator[Record]:
        for _ in range(10):
            self.waits.waiting("process 4711 is measuring on this machine")
            self.now += 30.0
        self.waits.phase(cases[0], "compile")
        return super().run(cases)


def test_the_budget_does_not_run_while_another_session_measures(tmp_path: Path) -> None:
    alone, took = raced(tmp_path / "alone", bench := Bench(1), resumed=False)
    assert raced(tmp_path / "beside", beside := BesideAnother(1), resumed=False) == (alone, took)
    assert beside.measured == bench.measured
    assert beside.now >= took + 3 * 300
