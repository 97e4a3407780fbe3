from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from synthetic import case, failed, measured

from pytest_ngraph.gate import Check, Threshold, check
from pytest_ngraph.gate.check import Outcome, outcome
from pytest_ngraph.metrics import Metric, Metrics, Scope, compute
from pytest_ngraph.stats import Estimate


@pytest.mark.parametrize(
    ("text", "estimate", "expected"),
    [
        ("bsr<0.9", Estimate(0.8, 0.7, 0.89), "breached"),
        ("bsr<0.9", Estimate(0.8, 0.7, 0.9), "undecided"),
        ("bsr<=0.9", Estimate(0.8, 0.7, 0.9), "breached"),
        ("bsr<0.9", Estimate(0.95, 0.8, 1.0), "kept"),
        ("bsr<0.9", Estimate(0.9, 0.9, 0.9), "kept"),
        ("bsr<0.9", Estimate(0.8, -math.inf, math.inf), "undecided"),
        ("compile_s>60", Estimate.exactly(61), "breached"),
        ("compile_s>60", Estimate(70, 60, 80), "undecided"),
        ("compile_s>=60", Estimate(70, 60, 80), "breached"),
        ("compile_s>60", Estimate(50, 40, 80), "kept"),
        ("break_even>1000", Estimate.exactly(math.inf), "breached"),
    ],
)
def test_outcome(text: str, estimate: Estimate, expected: Outcome) -> None:
    assert outcome(Threshold.parse(text), estimate) == expected


@given(
    st.sampled_from(["<", "<=", ">", ">="]),
    st.floats(-10, 10),
    st.tuples(st.floats(-10, 10), st.floats(-10, 10), st.floats(-10, 10)).map(sorted),
)
def test_breached_only_if_every_value_of_the_interval_breaches(op: str, limit: float, bounds: list[float]) -> None:
    low, value, high = bounds
    threshold = Threshold("bsr", op, limit)
    found = outcome(threshold, Estimate(value, low, high))
    assert (found == "breached") == all(map(threshold.breaches, bounds))
    assert (found == "kept") == (not threshold.breaches(value))


def checks(*texts: str, metrics: Metrics) -> list[Check]:
    return check([Threshold.parse(text) for text in texts], metrics)


def of(metric: Metric) -> Metrics:
    return Metrics({metric.case: {metric.name: metric}} if metric.case else {}, () if metric.case else (metric,))


def test_one_line_says_it_all() -> None:
    swin = case("openvino", 16, workload="swin_s3_tiny_224")
    [one] = checks("ase[b=16]<0.5", metrics=of(Metric("ase", swin, Estimate(0.41, 0.38, 0.45))))
    assert one.text == "ase[b=16]<0.5 breached: swin_s3_tiny_224-openvino-b16-xeon has ase 0.41 [0.38, 0.45]"
    assert one.case == swin


def test_wider_metrics_belong_to_no_case() -> None:
    scope = Scope(workload="conv", compiler="tvm", device="xeon")
    [one] = checks("friction>1", metrics=of(Metric("friction", scope, Estimate(1.1, 0.9, 1.3))))
    assert (one.case, one.outcome) == (None, "undecided")
    assert (
        one.text == "friction>1 undecided: conv-tvm-xeon has friction 1.1 [0.9, 1.3], whose interval includes the limit"
    )


def test_absent_metric_gives_the_reason() -> None:
    metrics = compute([measured(case(), 0.1), failed(case("tvm"))])
    [one] = checks("speedup<1 if compiler=tvm", metrics=metrics)
    assert one.outcome == "absent"
    assert "resnet18-tvm-b1-xeon has no speedup: tvm at batch size 1 failed in compile" in one.text


def test_threshold_that_matches_nothing_says_so() -> None:
    [one] = checks("speedup<1 if workload=vgg*", metrics=compute([measured(case(), 0.1)]))
    assert (one.outcome, one.metric) == ("unmatched", None)
    assert one.text == "speedup<1 if workload=vgg* matches nothing that this run measured"


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
