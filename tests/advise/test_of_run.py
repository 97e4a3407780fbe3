"""What to deploy, from the records and thresholds of a run of tests."""

from __future__ import annotations

import dataclasses

from launched import costs
from synthetic import case, failed, noisy, under_load

from pytest_ngraph.advise.answer import Answer
from pytest_ngraph.advise.lines import lines, sentence
from pytest_ngraph.advise.of_run import answers
from pytest_ngraph.case import Case
from pytest_ngraph.costs import Costs
from pytest_ngraph.gate import Threshold, check
from pytest_ngraph.metrics import compute
from pytest_ngraph.record import Record


def found(records: list[Record], *thresholds: str) -> list[Answer]:
    metrics = compute(records)
    checks = check([Threshold.parse(text) for text in thresholds], metrics)
    return list(answers(records, checks, metrics, "a-run"))


def of(compiler: str, seconds: float, **fields: object) -> Record:
    return noisy(case(compiler), seconds, **fields)  # type: ignore[arg-type]


RECORDS = [of("identity", 0.010), of("openvino", 0.004), of("onnxruntime", 0.006), failed(case("tvm"))]


def test_the_fastest_is_sure_and_the_others_say_why_not() -> None:
    (answer,) = found(RECORDS)
    assert answer.pick
    assert answer.pick.case.compiler == "openvino"
    assert answer.is_sure
    text = "\n".join(lines(answer, 120))
    assert "pytest-ngraph deploy a-run --case" in text
    assert "ms a sample; surely slower than openvino" in text
    assert "`tvm` at batch 1: failed, raised in compile" in text


def test_what_breaches_a_threshold_is_not_advised_and_what_may_is_not_sure() -> None:
    (answer,) = found(RECORDS, "throughput>200 if compiler=openvino")
    assert answer.pick
    assert answer.pick.case.compiler == "onnxruntime"
    assert "breaches throughput>200 if compiler=openvino" in "\n".join(lines(answer, 200))
    (answer,) = found(RECORDS, "throughput<251 if compiler=openvino")
    assert answer.pick
    assert answer.pick.case.compiler == "openvino"
    assert not answer.is_sure
    assert "may breach throughput<251" in answer.doubts[0]


def test_a_limit_that_only_the_value_keeps_leaves_a_doubt() -> None:
    """250 samples/s are ± 9 % in other processes."""
    (answer,) = found(RECORDS, "throughput<249 if compiler=openvino")
    assert answer.pick
    assert (answer.pick.case.compiler, answer.is_sure) == ("openvino", False)
    assert answer.doubts == ["throughput 250 samples/s, keeps throughput<249 if compiler=openvino, but not surely"]
    (answer,) = found(RECORDS, "throughput<200 if compiler=openvino")
    assert answer.is_sure


def test_what_is_faster_and_breaches_a_limit_stands_in_the_sentence() -> None:
    (answer,) = found(RECORDS, "throughput>120")
    assert answer.pick
    assert answer.pick.case.compiler == "identity"
    assert sentence(answer) == (
        "Deploy `identity` at batch 1: eager PyTorch is the fastest that keeps the limits, sure; openvino takes 60 % "
        "less time, but breaches a limit: throughput 250 samples/s, breaches throughput>120."
    )


def test_what_a_threshold_asks_for_and_nobody_measured_does_not_keep_it() -> None:
    (answer,) = found(RECORDS, "cold_start>1s if compiler=openvino")
    assert answer.pick
    assert answer.pick.case.compiler == "onnxruntime"


def test_batch_sizes_and_precisions_are_candidates_and_sizes_and_devices_are_not() -> None:
    batch = dataclasses.replace(case("openvino"), batch_size=8)
    wide = dataclasses.replace(case("openvino"), width=64)
    records = [*RECORDS, noisy(batch, 0.016), noisy(wide, 0.1)]
    (answer,) = found(records)
    assert answer.pick
    assert answer.pick.case == batch
    (_, other) = found([*records, noisy(dataclasses.replace(wide, compiler="identity"), 0.2)])
    assert other.pick
    assert other.pick.case == wide


def test_what_cannot_be_deployed_is_not_advised() -> None:
    problem = Costs(problem="it cannot be deployed: no package")
    records = [of("inductor", 0.001, serving=problem), of("identity", 0.010, serving=costs())]
    (answer,) = found(records)
    assert answer.pick
    assert answer.pick.case.compiler == "identity"


def test_what_leaves_nothing_to_deploy_is_not_advised_even_where_no_folder_was_written() -> None:
    lazy = of("inductor", 0.001, facts={"ahead_of_time": "False"})
    own = of("mine:Exact", 0.002)
    (answer,) = found([of("identity", 0.010), lazy, own])
    assert answer.pick
    assert answer.pick.case.compiler == "identity"
    assert [each.breaches for each in answer.candidates[:2]] == [
        ["it cannot be deployed: it compiles at its first call and leaves no package"],
        ["it cannot be deployed: mine:Exact has no method deploy"],
    ]
    (answer,) = found([of("identity", 0.010), of("inductor", 0.001, facts={"ahead_of_time": "True"})])
    assert answer.pick
    assert answer.pick.case.compiler == "inductor"


def test_one_candidate_is_no_choice() -> None:
    alone: Case = case("openvino")
    assert found([noisy(alone, 0.004)]) == []


def test_under_load_the_highest_rate_decides_and_not_the_time_of_a_sample() -> None:
    """A batch that takes longer than the limit has the higher throughput, and no rate."""
    loaded = [under_load("openvino", 0.01, 40.0), under_load("onnxruntime", 0.005)]
    assert found([*loaded, *RECORDS]) == found(RECORDS)


def test_a_workload_of_which_a_gate_left_out_cases_has_no_answer() -> None:
    other = case("identity", workload="vit")
    unmeasured = Record(case=case("tvm"), outcome="unchanged")
    assert not found([*RECORDS[:3], unmeasured])
    (answer,) = found([*RECORDS[:3], unmeasured, noisy(other, 0.01), noisy(case("tvm", workload="vit"), 0.02)])
    assert answer.pick
    assert answer.pick.case == other


def test_who_is_close_and_was_not_held_to_a_limit_is_named_with_that() -> None:
    served = of("onnxruntime", 0.0041, serving=costs())
    (answer,) = found([of("identity", 0.010), of("openvino", 0.0040), served], "serving_memory_bytes>1GiB")
    assert answer.pick
    assert answer.pick.case.compiler == "onnxruntime"
    close = "openvino is 2 % faster, no serving_memory_bytes for serving_memory_bytes>1GiB"
    assert close in sentence(answer)
    assert "2 % faster, no serving_memory_bytes" in "\n".join(lines(answer, 300))


def test_one_reason_for_all_stands_once() -> None:
    records = [failed(case(compiler)) for compiler in ("identity", "tvm")]
    (answer,) = found(records)
    assert [*lines(answer, 300)] == [sentence(answer)]


def test_eager_is_not_called_the_fastest_where_a_faster_one_was_not_held_to_a_limit() -> None:
    """166 calls show no p99."""
    few = noisy(case("openvino", 8), 0.006, calls=(0.006,) * 166)
    (answer,) = found([of("identity", 0.002, calls=(0.002,) * 500), few], "p99>20ms")
    assert "eager PyTorch is the fastest that is known to keep the limits" in sentence(answer)
    assert "; openvino at batch 8 is " in sentence(answer)
