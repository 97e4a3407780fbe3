from __future__ import annotations

from synthetic import case, failed, measured

from pytest_ngraph.bench.beside_base.alone_launches import launch_alone
from pytest_ngraph.comparison import AloneLaunch
from pytest_ngraph.record import Record

CASE = case("openvino", 8)


def test_each_arm_is_launched_three_times_in_turn() -> None:
    launched: list[str] = []

    def launch(arm: str) -> Record:
        launched.append(arm)
        seconds = float(len(launched))
        return measured(CASE, 0.1, compile_s=seconds, cpu_percent=50.0, worker_memory_bytes=2**20)

    launches, problem = launch_alone(launch)
    assert problem == ""
    assert [each.arm for each in launches] == launched == ["base", "head", "head", "base", "base", "head"]
    assert launches[2] == AloneLaunch(arm="head", compile_s=3.0, cpu_percent=50.0, worker_memory_bytes=2**20)
    sums = {arm: sum(each.compile_s or 0 for each in launches if each.arm == arm) for arm in ("base", "head")}
    assert abs(sums["base"] - sums["head"]) <= 1, "drift hits both"


def test_one_that_fails_ends_it() -> None:
    records = iter([measured(CASE, 0.1), failed(CASE, "no memory")])
    launches, problem = launch_alone(lambda _: next(records))
    assert len(launches) == 1
    assert problem == "launching the head alone failed: no memory"
