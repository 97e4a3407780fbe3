from __future__ import annotations

from dataclasses import replace

from pytest_ngraph.metrics.between import IN_GENERAL
from pytest_ngraph.report.answers import Answer, Candidate, answers
from pytest_ngraph.stats import Estimate


def candidate(compiler: str, rate: float, batch_size: int = 1, objective: str = "latency") -> Candidate[None]:
    return Candidate(compiler, batch_size, objective, Estimate(rate, rate * 0.999, rate * 1.001), None)


def by_goal(*candidates: Candidate[None]) -> dict[str, Answer[None]]:
    return {answer.goal: answer for answer in answers(candidates, IN_GENERAL)}


def test_the_best_case_of_each_goal_and_its_rivals() -> None:
    found = by_goal(
        candidate("identity", 100), candidate("openvino", 200), candidate("tvm", 199),
        candidate("identity", 300, 8), candidate("tvm", 500, 8), candidate("openvino", 400, 8),
    )  # fmt: skip
    latency, throughput = found["lowest latency"], found["highest throughput"]
    assert (latency.best.compiler, latency.best.latency_s) == ("openvino", 0.005)
    assert latency.is_close
    assert [rival.compiler for rival in latency.rivals] == ["tvm"]
    assert round(latency.behind(latency.rivals[0]), 4) == 0.005
    assert (throughput.best.compiler, throughput.best.batch_size, throughput.is_sure) == ("tvm", 8, True)
    assert throughput.runner_up is not None
    assert (throughput.runner_up.compiler, round(throughput.lead, 4)) == ("openvino", 0.2)


def test_alone_is_neither_sure_nor_close() -> None:
    answer = by_goal(candidate("identity", 100))["highest throughput"]
    assert (answer.is_sure, answer.is_close, answer.runner_up) == (False, False, None)


def test_several_at_a_time_have_no_latency() -> None:
    found = by_goal(candidate("openvino", 500, 1, "throughput"))
    assert [*found] == ["highest throughput"]
    assert found["highest throughput"].best.latency_s is None
    assert by_goal() == {}


def test_under_load_the_highest_rate_counts_and_nothing_else_is_compared_with_it() -> None:
    found = by_goal(
        candidate("tvm", 900, objective="serving"), candidate("openvino", 700, objective="serving"),
        candidate("identity", 2000), candidate("tvm", 1000),
    )  # fmt: skip
    assert (found["highest rate"].best.compiler, found["highest rate"].is_sure) == ("tvm", True)
    assert found["highest throughput"].best.compiler == "identity"
    assert [*by_goal(candidate("tvm", 900, objective="serving"))] == ["highest rate"]


def test_a_rate_that_changes_more_than_calls_must_be_farther_above() -> None:
    steep = [
        replace(candidate(name, rate, objective="serving"), steepness=12.0)
        for name, rate in (("tvm", 900), ("openvino", 700))
    ]
    assert by_goal(*steep)["highest rate"].rivals == (steep[1],)
