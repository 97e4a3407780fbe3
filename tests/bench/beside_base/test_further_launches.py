"""What fails beside its base, in the first launch or in a later one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, cast

import pytest
from answering import PREPARED
from synthetic import case
from two_trees import Compare, Decided, comparison_of

from pytest_ngraph.artifact import Artifact, Target
from pytest_ngraph.bench.asked import Asked
from pytest_ngraph.bench.beside_base.base import Base
from pytest_ngraph.bench.beside_base.base_sides import BaseSide
from pytest_ngraph.bench.beside_base.draws import DrawingLaunches
from pytest_ngraph.bench.beside_base.further_launches import FurtherLaunches
from pytest_ngraph.bench.beside_base.pair import Pair
from pytest_ngraph.bench.beside_base.paired import PairedArm
from pytest_ngraph.bench.processes.free_cores import FreeCores
from pytest_ngraph.bench.processes.home import Home
from pytest_ngraph.bench.processes.process import WorkerProcess
from pytest_ngraph.bench.processes.workers import Workers
from pytest_ngraph.bench.progress import Silent
from pytest_ngraph.bench.rounds.preparer import Preparer
from pytest_ngraph.bench.rounds.serving import ServingCosts
from pytest_ngraph.comparison import Comparison, Launch
from pytest_ngraph.errors import Unsupported
from pytest_ngraph.record import Record, Round
from pytest_ngraph.settings import Settings


@pytest.mark.parametrize(
    ("compiler", "problem"),
    [
        ("beside:Lonely", "the head does not run beside the base: out of memory in compile: MemoryError: there is"),
        ("beside:LonelyMeasuring", "head and base do not run together: crashed in measure: crashed with SIGABRT"),
    ],
)
def test_a_head_that_runs_alone_is_measured_alone(crowd: Compare, compiler: str, problem: str) -> None:
    (record,) = crowd(compiler)
    assert record.outcome == "measured", record.failure
    assert record.rounds
    assert record.worker_memory_bytes, "of a process that holds one model"
    assert record.comparison
    assert record.comparison.problem.startswith(problem)
    assert (record.comparison.new, record.comparison.launches) == (False, ())


def test_a_head_that_does_not_run_alone_either_fails_as_it_does_alone(crowd: Compare) -> None:
    (record,) = crowd("beside:Lonely", head="faulty:Aborts")
    assert record.failure
    assert (record.failure.kind, record.failure.message) == ("crashed", "crashed with SIGABRT")


def test_a_head_that_crashes_in_a_later_launch_has_failed(crowd: Compare) -> None:
    """The first launch runs in the compiler's process, each of the others in a fresh one."""
    (record,) = crowd("faulty:Exact", head="beside:AbortsElsewhere", launches=2)
    assert record.outcome == "failed"
    assert record.failure
    assert (record.failure.kind, record.failure.phase) == ("crashed", "compile")
    assert record.failure.message == "measured once, but then, in a fresh process: crashed with SIGABRT"
    assert record.comparison
    assert len(record.comparison.launches) == 1, "what was measured is kept"
    assert record.follows_from["graph"]


def test_a_crash_of_both_in_a_later_launch_is_not_the_heads_if_it_runs_alone(crowd: Compare) -> None:
    """The base may have crashed, as in the first launch."""
    (record,) = crowd("beside:LonelyMeasuringElsewhere", launches=2)
    assert record.outcome == "measured", record.failure
    assert record.comparison
    assert record.comparison.problem == (
        "measuring it again failed: head and base do not run together: crashed in measure: crashed with SIGABRT"
    )
    assert (record.comparison.broken, len(record.comparison.launches)) == ("", 1)


def test_a_crash_of_both_in_a_later_launch_is_the_heads_if_it_crashes_alone(crowd: Compare) -> None:
    (record,) = crowd("faulty:Exact", head="beside:AbortsMeasuringElsewhere", launches=2)
    assert record.failure
    assert (record.failure.kind, record.failure.phase) == ("crashed", "measure")
    assert record.failure.message == "measured once, but then, in a fresh process: crashed with SIGABRT"


def test_a_base_that_crashes_in_a_later_launch_is_broken(crowd: Compare) -> None:
    comparison = comparison_of(crowd("beside:AbortsElsewhere", head="faulty:Exact", launches=2))
    assert comparison.problem == (
        "measuring it again failed: the base does not run: crashed in compile: crashed with SIGABRT"
    )
    assert comparison.broken == "crashed"
    assert len(comparison.launches) == 1


def test_a_head_that_finds_no_room_in_a_later_launch_has_not_failed(crowd: Compare) -> None:
    """Two models need the memory of two."""
    comparison = comparison_of(crowd("faulty:Exact", head="beside:NoRoomElsewhere", launches=2))
    assert comparison.problem.startswith(
        "measuring it again failed: the head does not run beside the base: out of memory in compile: MemoryError"
    )
    assert comparison.broken == ""


@pytest.mark.parametrize(("explain", "regressed"), [("none", True), ("regressed", False)])
def test_what_nobody_asks_about_is_not_profiled(crowd: Compare, explain: str, regressed: bool) -> None:
    comparison = comparison_of(crowd("faulty:Exact", explain=explain, regressed=lambda found: regressed))
    assert comparison.explanation == {}, "nor does it say that this compiler cannot profile"


def test_what_regressed_is_profiled_beside_its_base(compare: Compare) -> None:
    asked: list[Comparison] = []

    def regressed(comparison: Comparison) -> bool:
        asked.append(comparison)
        return True

    explanation = comparison_of(compare(explain="regressed", regressed=regressed)).explanation
    assert explanation["names"] == ["base", "head"]
    assert explanation["difference_s"][0] < 0, "the base has wider layers"
    assert {each["module"] for each in explanation["graph"]["changed"]} == {"0", "1", "2", "3"}
    assert [len(each.launches) for each in asked] == [1]


def test_a_compiler_that_cannot_profile_says_so_and_the_verdict_stays(crowd: Compare) -> None:
    comparison = comparison_of(crowd("faulty:Exact", explain="all"))
    assert "has no method instrument" in comparison.explanation["problem"]
    assert len(comparison.launches) == 1


class Started:
    """Workers of simulated processes, which note what each prepares, and where."""

    alive = True
    read: ClassVar[dict[str, str]] = {}

    def __init__(self) -> None:
        self.prepared: set[tuple[str, str]] = set()
        self._place = ""

    @contextmanager
    def fresh(self, target: Target, home: Home | None = None, compiler: str = "") -> Iterator[Started]:
        started = Started()
        started.prepared, started._place = self.prepared, str(home.folder) if home else "head"
        yield started

    def request(self, do: str, *, arm: str = "head", **arguments: Any) -> dict[str, Any]:
        if do == "prepare":
            self.prepared.add((self._place, arguments["case"]["compiler"]))
            return PREPARED
        if do == "instrument":
            raise Unsupported("no profiler")
        if do == "time_calls":
            return {"seconds": [0.001] * arguments["calls"]}
        used = {"wall_s": 0.01, "cpu_s": 0.01, "involuntary_switches": 0}
        return {"elapsed_s": 0.01, **used} if do == "measure" else {"worker_memory_bytes": 2**20}


def _confirmed_in_both_ways(started: Started, tmp_path: Path, **asks: Any) -> Comparison:
    """Return a comparison of programs and modules, with a launch each, after what follows when it is decided."""
    eager = case("identity", 8)
    artifact = Artifact(folder=tmp_path, case=eager, program=tmp_path / "program.pt2")
    once = (Launch(builds=(), iterations=1, fresh=True),)
    modules = Comparison(against="main", subject="module", placement="apart", launches=once)
    programs = Comparison(against="main", subject="program", module=modules, launches=once)
    base = Base(
        name="main",
        identity="main",
        home=Home(folder=Path("/base")),
        instead_of=None,
        case_of=lambda each: each,
        at_base=lambda each: each,
        decides=Decided(1, lambda comparison: comparison.subject == "module"),
        **asks,
    )
    settings = Settings(budget_s=0.02, warmup_s=0.0, tails_s=0.02, min_rounds=1)
    launches = FurtherLaunches(
        base,
        Preparer(workers=cast("Workers", started), settings=settings, progress=Silent()),
        lambda each: Target(),
        DrawingLaunches(settings, tmp_path / "draws"),
        ServingCosts((), tmp_path, settings, Silent()),
        Asked(tails={eager}, alone={eager}),
    )
    pair = Pair(
        case=eager, artifact=artifact, target=Target(), base_side=BaseSide(case=eager, artifact=artifact),
        comparison=programs,
    )  # fmt: skip
    arm = PairedArm(pair, settings, lambda which: cast("WorkerProcess", started), FreeCores())
    arm.rounds.append(Round(1, 0.001))
    record = launches.confirmed(Record(case=eager, outcome="measured", started_at=0.0, comparison=programs), arm)
    assert record.comparison
    return record.comparison


def test_a_case_that_is_compared_in_both_ways_has_its_further_figures_from_modules(tmp_path: Path) -> None:
    """They have the Python around the graph, which the exported programs have not."""
    comparison = _confirmed_in_both_ways(started := Started(), tmp_path)
    assert (len(comparison.calls), comparison.calls_problem) == (3, "")
    assert (len(comparison.alone), comparison.alone_problem) == (6, "")
    assert started.prepared == {("head", "identity"), ("/base", "identity")}


def test_modules_that_regressed_beside_unchanged_programs_are_profiled(tmp_path: Path) -> None:
    comparison = _confirmed_in_both_ways(Started(), tmp_path, explain="regressed")
    assert comparison.module
    assert (comparison.explanation, comparison.module.explanation) == ({}, {"problem": "no profiler"})
