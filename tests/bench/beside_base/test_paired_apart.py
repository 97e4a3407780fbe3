"""A base in its own process; both processes are simulated."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, cast

from answering import PREPARED
from synthetic import case

from pytest_ngraph.artifact import Artifact, Target
from pytest_ngraph.bench.beside_base.base_sides import BaseSide
from pytest_ngraph.bench.beside_base.pair import Pair
from pytest_ngraph.bench.beside_base.paired_apart import ApartArm
from pytest_ngraph.bench.processes.free_cores import FreeCores
from pytest_ngraph.bench.processes.process import WorkerFailed, WorkerProcess
from pytest_ngraph.comparison import Comparison
from pytest_ngraph.record import Contention, Failure
from pytest_ngraph.settings import Settings

CASE = case("openvino", 8)


class Process:
    """Answers every request except the one that it dies of."""

    alive = True
    read: ClassVar[dict[str, str]] = {}

    def __init__(self, name: str, dies_of: str = "") -> None:
        self._name = name
        self._dies_of = dies_of

    def request(self, do: str, *, phase: str, **arguments: Any) -> dict[str, Any]:
        if do == self._dies_of:
            raise WorkerFailed(Failure(phase=cast("Any", phase), kind="crashed", message="crashed with SIGSEGV"))
        if do == "prepare":
            return PREPARED | {"facts": {"of": self._name}}
        if do == "measure":
            return {"elapsed_s": 0.01, "wall_s": 0.01, "cpu_s": 0.01, "involuntary_switches": 0}
        return {"worker_memory_bytes": 2**20, "device_memory_bytes": None}


def arm(dies_of: str = "") -> ApartArm:
    """Return an arm whose base dies of this request."""
    processes = {"head": Process("head"), "base": Process("base", dies_of)}
    artifact = Artifact(folder=Path(), case=CASE)
    return ApartArm(
        Pair(
            case=CASE,
            artifact=artifact,
            target=Target(),
            base_side=BaseSide(case=CASE, artifact=artifact),
            comparison=Comparison(against="python3", placement="apart"),
        ),
        Settings(),
        lambda which: cast("WorkerProcess", processes[which]),
        FreeCores(),
    )


def test_a_base_that_dies_measuring_is_said_to_have_died_measuring() -> None:
    ours = arm(dies_of="measure")
    ours.prepare(on_phase=lambda _: None, on_progress=lambda _: None)
    ours.measure_round()
    assert not ours.can_run
    assert ours.problem == "the base ran at first, but then failed: crashed in measure: crashed with SIGSEGV"
    assert ours.finish(Contention(), ()).failure is None, "the head did nothing wrong"


def test_a_base_that_dies_compiling_does_not_run() -> None:
    ours = arm(dies_of="prepare")
    ours.prepare(on_phase=lambda _: None, on_progress=lambda _: None)
    assert ours.problem == "the base does not run: crashed in compile: crashed with SIGSEGV"


def test_the_comparison_has_the_facts_of_the_base_and_the_record_those_of_the_head() -> None:
    ours = arm()
    ours.prepare(on_phase=lambda _: None, on_progress=lambda _: None)
    ours.measure_round()
    record = ours.finish(Contention(), ())
    assert record.facts == {"of": "head"}
    assert record.comparison
    assert record.comparison.facts == {"of": "base"}
    assert record.comparison.against == "python3"
    (launch,) = record.comparison.launches
    (quad, *_) = launch.rounds[0].quads
    assert quad.head == quad.base
