from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from synthetic import case, failed, measured, under_load

from pytest_ngraph.gate import Check, Threshold, check
from pytest_ngraph.gate.check import Outcome, count_limits
from pytest_ngraph.metrics import Metric, Metrics, Scope, compute
from pytest_ngraph.stats import Estimate


@pytest.mark.parametrize(
    ("text", "estimate", "expected"),
    [
        ("mine.ratio<0.9", Estimate(0.8, 0.7, 0.89), "breached"),
        ("mine.ratio<0.9", Estimate(0.8, 0.7, 0.91), "undecided"),
        ("mine.ratio<0.9", Estimate(0.95, 0.8, 1.0), "kept"),
        ("mine.ratio<0.9", Estimate(0.9, 0.9, 0.9), "kept"),
        ("mine.ratio<=0.9", Estimate(0.9, 0.9, 0.9), "breached"),
        ("mine.ratio<0.9", Estimate(0.8, -math.inf, math.inf), "undecided"),
        ("mine.ratio>1", Estimate.exactly(math.inf), "breached"),
        ("mine.ratio<1", Estimate.exactly(-math.inf), "breached"),
        ("mine.ratio<1", Estimate.exactly(math.inf), "kept"),
        ("compile_s>60", Estimate.exactly(80), "breached"),
        ("compile_s>60", Estimate.exactly(61), "undecided"),
        ("compile_s>60", Estimate.exactly(60), "kept"),
        ("compile_s>=60", Estimate.exactly(60), "undecided"),
        ("worker_memory>100B", Estimate.exactly(103), "breached"),
    ],
)
def test_outcome(text: str, estimate: Estimate, expected: Outcome) -> None:
    [one] = checks(text, metrics=of(Metric(Threshold.parse(text).metric, case("tvm"), estimate)))
    assert one.outcome == expected


@given(
    st.sampled_from(["<", "<=", ">", ">="]),
    st.floats(-10, 10),
    st.tuples(st.floats(-10, 10), st.floats(-10, 10), st.floats(-10, 10)).map(sorted),
)
def test_breached_only_if_every_value_of_the_interval_breaches(op: str, limit: float, bounds: list[float]) -> None:
    low, value, high = bounds
    threshold = Threshold("mine.number", op, limit)
    assume(all(abs(bound - limit) > 1e-4 for bound in bounds))
    [one] = check([threshold], of(Metric("mine.number", case(), Estimate(value, low, high))))
    assert (one.outcome == "breached") == all(map(threshold.breaches, bounds))
    assert (one.outcome == "kept") == (not threshold.breaches(value))


def checks(*texts: str, metrics: Metrics) -> list[Check]:
    return check([Threshold.parse(text) for text in texts], metrics)


def of(metric: Metric) -> Metrics:
    return Metrics({metric.case: {metric.name: metric}} if metric.case else {}, () if metric.case else (metric,))


@pytest.mark.parametrize("estimate", [None, Estimate(50, 0, math.inf), Estimate.exactly(200)])
def test_who_failed_under_load_keeps_no_limit(estimate: Estimate | None) -> None:
    served = case("tvm", objective="serving")
    absent = "" if estimate else "crashed"
    [one] = checks("max_rate<100", metrics=of(Metric("max_rate", served, estimate, absent, failed="crashed")))
    assert one.outcome == "breached"
    assert one.text == f"max_rate<100 breached: {served.id} failed under load: crashed"


def test_one_line_says_it_all() -> None:
    swin = case("openvino", 16, workload="swin_s3_tiny_224")
    alone = case("openvino", 1, workload="swin_s3_tiny_224")
    metrics = Metrics({swin: {"ase": Metric("ase", swin, Estimate(0.41, 0.40, 0.42))}, alone: {}})
    [one] = checks("ase[b=16]<0.5", metrics=metrics)
    assert one.text == (
        "ase[b=16]<0.5 breached: swin_s3_tiny_224-openvino-b16-xeon has ase 0.41 [0.39, 0.43] "
        "(± 2.5 % within its processes, ± 4.5 % between processes)"
    )
    assert one.case == swin


def test_wider_metrics_belong_to_no_case() -> None:
    scope = Scope(workload="conv", compiler="tvm", device="xeon")
    [one] = checks("friction>1", metrics=of(Metric("friction", scope, Estimate(1.1, 0.9, 1.3))))
    assert (one.case, one.outcome) == (None, "undecided")
    assert (
        one.text == "friction>1 undecided: conv-tvm-xeon has friction 1.1 [0.9, 1.3] (± 0.200 within its processes), "
        "whose interval includes the limit"
    )


def test_absent_metric_gives_the_reason() -> None:
    metrics = compute([measured(case(), 0.1), failed(case("tvm"))])
    [one] = checks("speedup<1 if compiler=tvm", metrics=metrics)
    assert one.outcome == "absent"
    assert "resnet18-tvm-b1-xeon has no speedup: tvm at batch size 1 failed in compile" in one.text


def test_threshold_that_matches_nothing_says_so() -> None:
    [one] = checks("friction>1", metrics=compute([measured(case(), 0.1)]))
    assert (one.outcome, one.metric) == ("unmatched", None)
    assert one.text == "friction>1 matches nothing that this run measured"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("throughput<1 if workload=vgg*", "workload is resnet18"),
        ("throughput[b=3]<1", "batch_size is 1, 8"),
        ("throughput[seq_len=64]<1", "seq_len is 32, 128"),
        ("throughput[seq_lenn=128]<1", "there is no seq_lenn; the sizes are batch_size 1, 8, seq_len 32, 128"),
        (
            "throughput[d=2]<1 if compiler=nvcc",
            "compiler is identity; there is no depth; the sizes are batch_size 1, 8",
        ),
        ("throughput[b=8,seq_len=32]<1", ""),
    ],
)
def test_a_threshold_that_matches_nothing_says_what_there_is(text: str, why: str) -> None:
    own = [replace(case(batch_size=b), sizes=(("seq_len", n),)) for b, n in ((1, 32), (8, 128))]
    [one] = checks(text, metrics=compute([measured(each, 0.1) for each in own]))
    matches_nothing = "matches nothing that this run measured"
    assert matches_nothing in one.text
    assert one.text.partition(matches_nothing)[2].startswith(f": {why}" if why else "")
    assert bool(why) == (": " in one.text.partition(matches_nothing)[2])


def test_definitions_cannot_breach() -> None:
    metrics = compute([measured(case(c, b), 0.1) for c in ("identity", "tvm") for b in (1, 8)])
    found = checks("speedup<1.2", "rtr<1.5", metrics=metrics)
    assert [(c.case, c.outcome) for c in found] == [
        (case("tvm", 1), "breached"),
        (case("tvm", 8), "breached"),
        (case("identity", 8), "kept"),
        (case("tvm", 8), "kept"),
    ]


def test_no_thresholds_need_no_metrics() -> None:
    assert checks(metrics=compute([measured(case(), 0.1)])) == []


def test_every_comparison_of_the_run_makes_a_breach_harder() -> None:
    """Each takes a part of the error level (Holm 1979)."""
    near = Metrics({case("tvm"): {"mine.ratio": Metric("mine.ratio", case("tvm"), Estimate(0.8, 0.715, 0.885))}})
    threshold = Threshold.parse("mine.ratio<0.9")
    assert [check([threshold], near, limits=limits)[0].outcome for limits in (1, 60)] == ["breached", "undecided"]
    assert check([threshold], near, limits=60)[0].text.endswith(", which is not sure enough for one of 60 limits")


def test_what_is_surely_breached_leaves_its_part_to_the_others() -> None:
    def metric(name: str, value: float) -> Metric:
        return Metric(name, case("tvm"), Estimate(value, value - 0.0875, value + 0.0875))

    found = {each.name: each for each in (metric("mine.a", 0.1), metric("mine.b", 0.8))}
    thresholds = [Threshold.parse(f"{name}<0.9") for name in found]
    together = check(thresholds, Metrics({case("tvm"): found}))
    assert [each.outcome for each in together] == ["breached", "breached"]
    assert check(thresholds[1:], Metrics({case("tvm"): found}), limits=2)[0].outcome == "undecided"


def test_the_comparisons_of_a_run_are_counted_before_it_measures() -> None:
    cases = [case(compiler, size) for compiler in ("identity", "tvm") for size in (1, 8)]
    everywhere = [Threshold.parse(text) for text in ("throughput<1", "speedup<1 if compiler=tvm", "friction>1")]
    relative = Threshold.parse("throughput:5%")
    own = Threshold.parse("ase[b=8]<0.5")
    every = [*((each, None) for each in (*everywhere, relative)), (own, cases[3]), (own, cases[2])]
    assert count_limits(every, cases) == 4 + 2 + 2 + 1
    assert count_limits([], cases) == 0


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("throughput<1", 4),
        ("speedup<1", 2),
        ("compile_s>60", 2),
        ("cpu_reduction<0.1", 2),
        ("break_even>100", 2),
        ("rtr<1", 2),
        ("ase<0.5", 2),
        ("bsr<0.9", 1),
    ],
)
def test_what_follows_by_definition_and_what_two_tests_have_count_no_further_comparison(text: str, count: int) -> None:
    cases = [case(compiler, size) for compiler in ("identity", "tvm") for size in (1, 8)]
    every = [(Threshold.parse(text), None)]
    assert [count_limits(every, twice) for twice in (cases, cases * 2)] == [count, count]


def test_what_cases_of_other_objectives_cannot_have_counts_no_comparison() -> None:
    """A rate under load is of cases under load, and a percentile of calls that run one by one."""
    served, alone, beside = (case("tvm", objective=objective) for objective in ("serving", "latency", "throughput"))
    records = [
        under_load("tvm", 0.001, 90.0, 91.0, 92.0),
        measured(alone, 0.1, calls=(0.1,) * 200),
        measured(beside, 0.1),
    ]
    for text, own in (("max_rate<100", {served}), ("p50_s>1", {served, alone})):
        assert count_limits([(Threshold.parse(text), None)], [served, alone, beside]) == len(own)
        assert {one.case for one in check([Threshold.parse(text)], compute(records))} == own
    (nothing,) = check([Threshold.parse("max_rate<100")], compute(records[1:]))
    assert (
        nothing.text == "max_rate<100 matches nothing that this run measured: not put under load: --objective=serving"
    )


def test_as_many_comparisons_are_made_as_were_counted() -> None:
    cases = [case(compiler, size) for compiler in ("identity", "tvm") for size in (1, 8)]
    thresholds = [Threshold.parse(f"{name}<{limit}") for name in ("speedup", "rtr", "ase", "bsr") for limit in (1, 2)]
    found = check(thresholds, compute([measured(each, 0.1 * each.batch_size) for each in cases]))
    assert len(found) == count_limits([(threshold, None) for threshold in thresholds], cases)
