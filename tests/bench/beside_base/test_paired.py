"""Head and base in one process, which is simulated."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, cast

import pytest
from answering import PREPARED
from synthetic import case

from pytest_ngraph.artifact import Artifact, Target
from pytest_ngraph.bench.beside_base.base_sides import BaseSide
from pytest_ngraph.bench.beside_base.pair import Pair
from pytest_ngraph.bench.beside_base.paired import SLOW, PairedArm
from pytest_ngraph.bench.processes.free_cores import FreeCores
from pytest_ngraph.bench.processes.process import WorkerFailed, WorkerProcess
from pytest_ngraph.case import Case
from pytest_ngraph.comparison import Comparison
from pytest_ngraph.record import Contention, Failure, Phase
from pytest_ngraph.settings import Settings

CASE = case("openvino", 8)
CORES = (1, 3)
CALL_S = 0.001


class Process:
    """Answers with quads whose bursts take `burst_s`, and with half as many quads if these are slow.

    Args:
        fails: the request that runs out of memory, counted by kind (`prepare 2`).
    """

    alive = True
    read: ClassVar[dict[str, str]] = {}

    def __init__(self, fails: str = "") -> None:
        self._fails = fails
        self._asked: Counter[str] = Counter()
        self.burst_s = CALL_S
        self.limits: list[float | None] = []
        self.prepared: list[dict[str, Any]] = []

    def request(self, do: str, *, phase: Phase, **arguments: Any) -> dict[str, Any]:
        self._asked[do] += 1
        if self._fails == f"{do} {self._asked[do]}":
            raise WorkerFailed(Failure(phase=phase, kind="out of memory", message="MemoryError: no more"))
        if do == "prepare":
            self.prepared.append(arguments)
            return PREPARED
        if do == "release":
            return {"worker_memory_bytes": 2**20, "device_memory_bytes": 2**20}
        assert do == "compare"
        self.limits.append(arguments["slowest_s"])
        quads = arguments["quads"] if self.burst_s == CALL_S else arguments["quads"] // 2
        return {
            "quads": [[[self.burst_s] * 2] * 2] * quads,
            "wall_s": 0.1,
            "cpu_s": 0.1,
            "involuntary_switches": 0,
        }


class Watched(FreeCores):
    """Remembers the cores that it was asked to wait for. `is_ready`: whether it would wait."""

    def __init__(self) -> None:
        super().__init__()
        self.waits: list[Sequence[int]] = []
        self.is_ready = True

    @property
    def would_wait(self) -> bool:
        return self.is_ready

    def wait(self, cores: Sequence[int]) -> None:
        self.waits.append(cores)


@pytest.fixture
def calm(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel reports no other work."""
    monkeypatch.setattr("pytest_ngraph.bench.beside_base.paired.is_disturbed", lambda measured: False)


def arm(process: Process, free_cores: FreeCores, base: Case = CASE) -> PairedArm:
    artifact = Artifact(folder=Path(), case=CASE)
    ours = PairedArm(
        Pair(
            case=CASE,
            artifact=artifact,
            target=Target(cores=CORES),
            base_side=BaseSide(case=base, artifact=artifact),
            comparison=Comparison(against="main"),
        ),
        Settings(),
        lambda which: cast("WorkerProcess", process),
        free_cores,
    )
    ours._seconds_per_call = CALL_S
    return ours


@pytest.mark.usefixtures("calm")
def test_rounds_that_nothing_disturbs_follow_each_other() -> None:
    process, free_cores = Process(), Watched()
    ours = arm(process, free_cores)
    for _ in range(3):
        ours.measure_round()
    assert free_cores.waits == []
    assert process.limits == [None, *[pytest.approx(SLOW * 4 * CALL_S)] * 2]


@pytest.mark.usefixtures("calm")
def test_what_ends_a_round_early_is_waited_for() -> None:
    process, free_cores = Process(), Watched()
    ours = arm(process, free_cores)
    ours.measure_round()
    process.burst_s = 2 * CALL_S
    ours.measure_round()
    assert free_cores.waits == []
    ours.measure_round()
    assert free_cores.waits == [CORES]


def test_work_that_the_kernel_reports_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_ngraph.bench.beside_base.paired.is_disturbed", lambda measured: True)
    free_cores = Watched()
    ours = arm(Process(), free_cores)
    ours.measure_round()
    ours.measure_round()
    assert free_cores.waits == [CORES]


@pytest.mark.usefixtures("calm")
def test_while_waiting_is_in_vain_rounds_are_whole() -> None:
    process, free_cores = Process(), Watched()
    ours = arm(process, free_cores)
    free_cores.is_ready = False
    ours.measure_round()
    ours.measure_round()
    assert process.limits == [None, None]


def test_each_arm_is_compiled_for_its_own_precision_and_objective() -> None:
    """Otherwise a base in fp32 would compute in the bf16 of its head, which would hide the gain."""
    process = Process()
    ours = arm(process, Watched(), dataclasses.replace(CASE, precision="bf16", objective="throughput"))
    ours.prepare(lambda phase: None, lambda text: None)
    base, head = (each["target"] for each in process.prepared)
    assert (base["precision"], base["objective"], base["cores"]) == ("bf16", "throughput", CORES)
    assert (head["precision"], head["objective"], head["cores"]) == ("fp32", "latency", CORES)


@pytest.mark.parametrize(
    ("fails", "problem", "broken"),
    [
        ("prepare 1", "the base does not run: out of memory in compile", "out of memory"),
        ("prepare 2", "the head does not run beside the base: out of memory in compile", ""),
        ("compare 1", "head and base do not run together: out of memory in measure", ""),
        ("prepare 3", "the head does not run beside the base: out of memory in compile", ""),
        ("prepare 4", "the base ran at first, but then failed: out of memory in compile", "out of memory"),
    ],
)
def test_only_a_base_that_fails_before_the_head_is_there_is_one_that_does_not_run(
    fails: str, problem: str, broken: str
) -> None:
    """In the second half of a launch, the base is built beside the head."""
    ours = arm(Process(fails), Watched())
    ours.prepare(lambda phase: None, lambda text: None)
    while ours.can_run and not ours.is_done:
        ours.measure_round()
    assert ours.problem == f"{problem}: MemoryError: no more"
    assert ours.finish(Contention(), ()).comparison == Comparison(against="main", problem=ours.problem, broken=broken)
    assert ours.single().can_run


def test_what_both_models_used_is_neither_ones() -> None:
    ours = arm(Process(), Watched())
    ours.prepare(lambda phase: None, lambda text: None)
    while not ours.is_done:
        ours.measure_round()
    record = ours.finish(Contention(), (), "some cycles")
    assert record.outcome == "measured"
    assert not record.cycles, "its quads are not one round a cycle"
    assert (record.worker_memory_bytes, record.device_memory_bytes, record.cpu_percent) == (None, None, None)
