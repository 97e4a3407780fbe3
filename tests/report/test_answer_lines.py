from __future__ import annotations

import dataclasses

import pytest
from synthetic import case, failed, measured, overloaded, under_load

from pytest_ngraph.advise.of_run import answers
from pytest_ngraph.costs import Costs
from pytest_ngraph.metrics import compute
from pytest_ngraph.record import Record
from pytest_ngraph.report.answer_lines import answer_lines
from pytest_ngraph.report.block import block
from pytest_ngraph.report.study.data import Study
from pytest_ngraph.report.study.findings import findings
from pytest_ngraph.report.study.tables import TABLES
from pytest_ngraph.report.summary import summary
from pytest_ngraph.store import Run


def texts(records: list[Record], width: int = 100) -> list[str]:
    return [line.text for line in answer_lines(records, compute(records), width)]


def sweep(workloads: int, devices: int = 1) -> list[Record]:
    return [
        measured(case(compiler, batch_size, workload=f"net{number}", device=f"cpu{device}"), seconds * batch_size**0.9)
        for device in range(devices)
        for number in range(workloads)
        for compiler, seconds in (("identity", 0.02), ("openvino", 0.01 if number else 0.0199))
        for batch_size in (1, 8)
    ]


def test_few_workloads_have_a_line_each() -> None:
    records = [*sweep(2), failed(case("tvm", workload="net0", device="cpu0"))]
    assert texts(records) == [
        "What to deploy",
        "  net0  openvino b1 19.9 ms ×1.01 too close  openvino b8 61.9/s ×1.01 too close",
        "  net1  openvino b1 10.0 ms ×2.00 sure       openvino b8 123/s ×2.00 sure",
        "  too close: 2 (net0: openvino or identity); failed: 1 case (tvm 1)",
    ]


@pytest.mark.parametrize(("seconds", "verdict"), [(0.0186, "too close"), (0.01, "sure")])
def test_what_was_measured_on_two_days_is_compared_less_surely(seconds: float, verdict: str) -> None:
    """Seven percent are sure where both were measured in turn, in the terminal, of the advice and in the report."""
    together = [measured(case("identity"), 0.02), measured(case("openvino"), seconds)]
    for records, expected in (
        (together, "sure"),
        ([together[0], dataclasses.replace(together[1], session="resumed")], verdict),
    ):
        metrics = compute(records)
        assert texts(records)[1].endswith(f"×{0.02 / seconds:.2f} {expected}")
        marked = {line.text.split()[0] for line in block(records, metrics, 100)[2:4]}
        assert marked == ({"*", "="} if expected == "too close" else {"*", "1"})
        (advice,) = answers(records, [], metrics, "run")
        assert advice.is_sure is (expected == "sure")
        study = Study.of([Run(id="run", records=tuple(records))])
        assert TABLES["deploy"](study).frame["sure"].to_list() == [expected == "sure"] * 2
        (sentence, *gains) = findings(study)[0].sentences
        assert ("1 are too close to call" in sentence) is (expected == "too close")
        assert bool(gains) is (expected == "sure")


def test_what_compiles_at_its_first_call_is_not_named_without_costs_either() -> None:
    """`deploy` refuses it, and says so whether what serving costs was measured or not."""
    lazy = measured(case("inductor"), 0.001, facts={"ahead_of_time": "False"})
    kept = [measured(case("identity"), 0.02), measured(case("openvino"), 0.01)]
    assert texts([*kept, lazy])[1:] == [
        "  resnet18  openvino b1 10.0 ms ×2.00 sure  openvino b1 100/s ×2.00 sure",
        "  cannot be deployed: 1 case (inductor 1)",
    ]
    assert "inductor b1" in texts([*kept, dataclasses.replace(lazy, facts={"ahead_of_time": "True"})])[1]


def test_many_workloads_are_counted() -> None:
    assert texts(sweep(6))[1] == (
        "  cpu0: lowest latency: openvino 6 of 6 (5 sure); highest throughput: openvino 6 of 6 (5 sure)"
    )


@pytest.mark.parametrize(("workloads", "devices"), [(1, 1), (3, 1), (2, 3), (9, 3), (9, 7)])
@pytest.mark.parametrize("width", [30, 60, 80, 200])
def test_the_answer_has_few_lines_that_fit_and_are_not_cut(workloads: int, devices: int, width: int) -> None:
    records = [dataclasses.replace(each, stable=False) for each in sweep(workloads, devices)]
    shown = texts([*records, failed(case("tvm"))], width)
    assert max(map(len, shown)) <= width
    assert not any(line.endswith("...") for line in shown)
    assert f"did not settle: {len(records)}" in " ".join(line.strip() for line in shown)
    if width == 200:
        assert 3 <= len(shown) <= 5


def test_a_workload_of_which_only_some_cases_were_measured_has_no_answer() -> None:
    """The gate leaves out what is unchanged: the compiler that is left would win unopposed."""
    unchanged = dataclasses.replace(failed(case("openvino", workload="net0", device="cpu0")), outcome="unchanged")
    records = [each for each in sweep(2) if each.case.workload != "net0" or each.case.compiler == "identity"]
    assert [line.split()[0] for line in texts([*records, unchanged])] == ["What", "net1"]


def test_nothing_was_compared() -> None:
    assert texts([measured(case(), 0.1)]) == []
    assert texts([failed(case("tvm"))]) == ["  failed: 1 case (tvm 1)"]


def test_what_failed_and_did_not_settle_is_counted_where_nothing_was_compared() -> None:
    broken = [
        record
        for n in range(20)
        for record in (measured(case(workload=f"net{n}"), 0.1), failed(case("openvino", workload=f"net{n}")))
    ]
    assert texts(broken) == ["  failed: 20 cases (openvino 20)"]
    alone = [measured(case("openvino", workload=f"net{n}"), 0.1) for n in range(6)]
    assert texts(alone) == []
    assert texts([dataclasses.replace(record, stable=False) for record in alone]) == ["  did not settle: 6"]
    assert [line.text for line in summary(broken, compute(broken))][-1] == "  failed: 20 cases (openvino 20)"


def test_what_did_not_settle_is_counted() -> None:
    records = [dataclasses.replace(record, stable=False) for record in sweep(1)]
    assert texts(records)[-1].endswith("did not settle: 4")


def test_a_summary_of_many_workloads_shows_each_only_when_asked() -> None:
    records = sweep(6)
    metrics = compute(records)
    long, short = (
        [line.text for line in summary(records, metrics, is_detailed=detailed)] for detailed in (True, False)
    )
    assert short[0] == "24 cases of 6 workloads: -v shows each."
    assert "net0 on cpu0  fp32, latency" in long
    assert len(short) <= 6
    assert long[-len(short) + 2 :] == short[2:], "both end with the answer"


def test_under_load_the_highest_rate_is_the_answer() -> None:
    """The fastest calls are not those of the highest rate, where some of them are slow."""
    records = [
        under_load("openvino", 0.01, 50, 51, 50),
        under_load("tvm", 0.02, 40, 41, 40),
        under_load("identity", 0.005, 30, 60, 10),
        under_load("onnxruntime", 0.2),  # its calls take longer than the limit
    ]
    assert texts(records)[1] == "  resnet18  openvino b1 50.3 requests/s too close"
    del records[2]
    assert texts(records)[1] == "  resnet18  openvino b1 50.3 requests/s sure"


def test_what_crashed_under_load_is_not_the_answer_whatever_it_showed_before() -> None:
    shown = texts([under_load("identity", 0.01, 90, 91, 90), overloaded("openvino", 0.004, 200, 201, 200)])
    assert shown == ["  cannot be deployed: 1 case (openvino 1)"]
    records = [under_load(name, 0.01, rate, rate + 1, rate) for name, rate in (("identity", 90), ("tvm", 50))]
    assert texts([*records, overloaded("openvino", 0.004, 200, 201, 200)]) == [
        "What to deploy",
        "  resnet18  identity b1 90.3 requests/s sure",
        "  cannot be deployed: 1 case (openvino 1)",
    ]


def test_what_cannot_be_deployed_is_not_the_answer_as_with_advise() -> None:
    problem = Costs(problem="the deployed folder answers 3e-2 away from the measured model")
    records = [
        measured(case("identity"), 0.01),
        measured(case("tvm"), 0.02),
        measured(case("openvino"), 0.004, serving=problem),
    ]
    assert texts(records)[1:] == [
        "  resnet18  identity b1 10.0 ms sure  identity b1 100/s sure",
        "  cannot be deployed: 1 case (openvino 1)",
    ]
    (advised,) = answers(records, (), compute(records), "a-run")
    assert advised.pick
    assert advised.pick.case.compiler == "identity"


def test_what_crashed_under_load_is_not_marked_as_the_fastest() -> None:
    records = [under_load(name, 0.01, rate, rate + 1, rate) for name, rate in (("identity", 90), ("tvm", 50))]
    records.append(overloaded("openvino", 0.004, 200, 201, 200))
    shown = [line.text.split() for line in summary(records, compute(records), width=140)]
    assert [words[2] for words in shown if words[:2] == ["*", "1"]] == ["identity"]


def test_under_load_an_answer_that_calls_of_other_processes_may_turn_is_not_sure() -> None:
    """The terminal and the page know how much more than calls the highest rate changes."""
    steep = [
        dataclasses.replace(record, load=dataclasses.replace(record.load, steepness=12.0))
        for record in (under_load("openvino", 0.01, 50, 51, 50), under_load("tvm", 0.02, 40, 41, 40))
        if record.load
    ]
    assert texts(steep)[1] == "  resnet18  openvino b1 50.3 requests/s too close"
    marks = {line.text.strip()[:1] for line in summary(steep, compute(steep)) if " b1 " not in line.text}
    assert {"*", "="} <= marks
    study = Study.of([Run(id="a", environment={}, records=tuple(steep))])
    assert TABLES["deploy"](study).frame["sure"].to_list() == [False]
