"""The first screen of the page, as data."""

from __future__ import annotations

import dataclasses

from synthetic import case, failed, measured, overloaded, skipped, unchanged, under_load

from pytest_ngraph.costs import Costs
from pytest_ngraph.record import Record
from pytest_ngraph.report.study.data import Study
from pytest_ngraph.report.study.findings import findings
from pytest_ngraph.report.study.page.first import FEW, MOST_LISTED, MOST_ROWS, first_screen
from pytest_ngraph.report.study.tables import TABLES
from pytest_ngraph.store import Run


def study_of(*records: Record) -> Study:
    return Study.of([Run(id="1", environment={}, records=records)])


def pair(workload: str, faster: float) -> list[Record]:
    return [
        measured(case("identity", workload=workload), 0.02, worker_memory_bytes=2**28),
        measured(case("tvm", workload=workload), 0.02 / faster, compile_s=5.0, worker_memory_bytes=2**28),
    ]


def test_each_answer_has_its_value_its_verdict_and_its_cost() -> None:
    first = first_screen(study_of(*pair("sure", 2.0), *pair("close", 1.01)))
    close, sure = first.workloads
    assert (sure.title, sure.place) == ("sure", "xeon")
    latency, throughput = sure.choices
    assert latency == (
        "lowest latency", "tvm", 1, "10.0 ms", "×\u00a02.00 identity", "sure", "", "compiles in 5.00 s, 256 MiB", "",
    )  # fmt: skip
    assert (throughput.value, throughput.verdict) == ("100 samples/s", "sure")
    assert (close.choices[0].verdict, close.choices[0].rivals) == ("too close", "identity (-1.0\u00a0%)")
    assert first.close[0] == "close on xeon, lowest latency: tvm or identity (-1.0\u00a0%)"
    assert [count for count, *_ in first.counts] == ["2", "2", "0", "0"]
    assert first.summaries == [], "two workloads say it themselves"


def test_a_workload_has_one_row_whatever_the_objective_of_its_cases() -> None:
    overlapping = measured(case("tvm", 8, workload="net", objective="throughput"), 0.04)
    (row,) = first_screen(study_of(*pair("net", 2.0), overlapping)).workloads
    assert (row.title, row.place) == ("net", "xeon")
    assert [(choice.goal, choice.batch_size, choice.objective) for choice in row.choices] == [
        ("lowest latency", 1, ""),
        ("highest throughput", 8, "throughput"),
    ]


def test_under_load_the_answer_is_the_highest_rate() -> None:
    first = first_screen(study_of(under_load("openvino", 0.01, 50, 51, 50), under_load("tvm", 0.005, 30, 31, 30)))
    (choice,) = first.workloads[0].choices
    assert choice[:6] == ("highest rate", "openvino", 1, "50.3 requests/s", "", "sure")
    hopeless = first_screen(study_of(under_load("openvino", 0.2)))
    assert hopeless.workloads == []


def test_what_failed_comes_with_its_reason() -> None:
    unstable = dataclasses.replace(pair("net", 2.0)[0], stable=False)
    none = skipped(case("tensorrt", workload="net"), "no GPU")
    first = first_screen(study_of(unstable, failed(case("tvm", workload="net")), none))
    assert first.failed == [
        "tvm on xeon: 1 of 1 case failed, mostly failed in compile: RuntimeError: no such operator",
        "tensorrt on xeon: 1 of 1 case skipped, mostly no GPU",
    ]
    assert [count for count, *_ in first.counts] == ["0", "0", "1", "1"]
    assert first.workloads[0].choices[0].verdict == "only one"


def test_what_crashed_under_load_is_no_answer_and_is_listed_with_what_failed() -> None:
    study = study_of(under_load("identity", 0.01, 90, 91, 90), overloaded("openvino", 0.004, 200, 201, 200))
    first = first_screen(study)
    (choice,) = first.workloads[0].choices
    assert (choice.compiler, choice.value, choice.verdict) == ("identity", "90.3 requests/s", "only one")
    assert first.failed == [
        "openvino on xeon, serving: 1 of 1 case cannot be deployed, mostly failed under load: crashed: SIGSEGV"
    ]
    assert ("1", "cannot be deployed", "failed") in first.counts
    (row,) = TABLES["failures"](study).frame.to_dicts()
    assert (row["compiler"], row["outcome"], row["reason"]) == (
        "openvino", "measured", "failed under load: crashed: SIGSEGV",
    )  # fmt: skip


def test_what_cannot_be_deployed_is_no_answer() -> None:
    problem = Costs(problem="it cannot be deployed: no package")
    first = first_screen(
        study_of(*pair("net", 2.0), measured(case("openvino", workload="net"), 0.004, serving=problem))
    )
    assert [choice.compiler for choice in first.workloads[0].choices] == ["tvm", "tvm"]
    assert first.failed == ["openvino on xeon: 1 of 1 case cannot be deployed, mostly no package"]


def test_a_workload_of_which_a_gate_left_out_cases_has_no_answer() -> None:
    """What is unchanged was not timed, and may be the fastest."""
    left_out = unchanged(case("openvino", workload="partly"))
    study = study_of(*pair("whole", 2.0), *pair("partly", 2.0), left_out)
    first = first_screen(study)
    assert [each.title for each in first.workloads] == ["whole"]
    assert first.failed == []
    (fastest, *_) = findings(study)
    assert "of 1 cell (a workload at a batch size): tvm is fastest in 1 (whole at 1)" in fastest.sentences[0]


def test_many_workloads_are_counted_and_the_rest_is_named() -> None:
    many = [record for number in range(MOST_ROWS + 5) for record in pair(f"net{number}", 1.01 if number < 9 else 2.0)]
    first = first_screen(study_of(*many))
    assert len(first.workloads) == MOST_ROWS > FEW
    assert first.more == "The first 60 of 65 workloads: tables/deploy.csv has all."
    assert first.summaries == [
        "On xeon, lowest latency: tvm for 65 of 65 (56 sure); highest throughput: tvm for 65 of 65 (56 sure)."
    ]
    assert (len(first.close), first.more_close) == (MOST_LISTED, 18 - MOST_LISTED)


def test_an_empty_study_has_an_empty_first_screen() -> None:
    first = first_screen(Study())
    assert (first.workloads, first.close, first.failed) == ([], [], [])
