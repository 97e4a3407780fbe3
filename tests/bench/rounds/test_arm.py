"""An arm's requests to its worker, which is simulated."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest
from answering import PREPARED
from synthetic import case

from pytest_ngraph.artifact import Artifact, Target
from pytest_ngraph.bench.processes.process import WorkerFailed, WorkerProcess
from pytest_ngraph.bench.progress import Silent
from pytest_ngraph.bench.rounds.arm import Arm
from pytest_ngraph.bench.rounds.load import put_under_load
from pytest_ngraph.case import Case
from pytest_ngraph.record import Contention, Failure
from pytest_ngraph.settings import Settings

CASE = case("openvino", 8)


class Process:
    """Compiles a model whose calls take `call_s`, and notes what it is to measure."""

    def __init__(self, call_s: float) -> None:
        self._call_s = call_s
        self.read: dict[str, str] = {}
        self.measured: list[tuple[int, int]] = []
        self.alive = True

    def request(self, do: str, **arguments: Any) -> dict[str, Any]:
        if do == "measure":
            self.measured.append((arguments["calls"], arguments["untimed"]))
            return {"elapsed_s": 0.05, "wall_s": 0.05, "cpu_s": 0.05, "involuntary_switches": 0}
        if do == "peaks":
            return {"worker_memory_bytes": 5}
        if do == "load":
            self.alive = False
            raise WorkerFailed(Failure(phase="measure", kind="timed out", message=f"after {arguments['timeout_s']} s"))
        return PREPARED | {"seconds_per_call": self._call_s}


def prepared(of: Case, process: Process) -> Arm:
    arm = Arm(
        of,
        Artifact(folder=Path(), case=of),
        Target(),
        Settings(round_s=0.05),
        lambda: cast("WorkerProcess", process),
    )
    arm.prepare(on_phase=lambda _: None, on_progress=lambda _: None)
    return arm


@pytest.mark.parametrize(
    ("call_s", "alone", "in_turn"),
    [
        pytest.param(0.02, (2, 0), (2, 1), id="a call that is short against what fills the caches again"),
        pytest.param(0.0002, (250, 0), (250, 12), id="many calls"),
        pytest.param(0.4, (1, 0), (1, 0), id="a long call, of which that is a small part"),
    ],
)
def test_after_another_arm_the_first_calls_are_not_timed(
    call_s: float, alone: tuple[int, int], in_turn: tuple[int, int]
) -> None:
    process = Process(call_s)
    ours = prepared(CASE, process)
    ours.measure_round()
    ours.measure_round(after_others=True)
    assert process.measured == [alone, in_turn]


def test_a_load_that_takes_its_time_is_no_time_out_and_one_that_fails_costs_no_rounds() -> None:
    arm = prepared(case("openvino", objective="serving"), Process(0.05))
    arm.measure_round()
    put_under_load([arm], Settings(load_s=1800), Silent())
    record = arm.finish(Contention(), ())
    assert (record.outcome, len(record.rounds), record.worker_memory_bytes) == ("measured", 1, 5)
    assert record.load is not None
    longest_s = float(record.load.problem.split()[-2])
    assert longest_s == pytest.approx(Settings().timeout_s + 1800 / 6, rel=0.01)
