"""The metrics of cases, made when they are read."""

from __future__ import annotations

import gc

import pytest
from synthetic import case, measured

from pytest_ngraph.metrics import Metric, Scope, compute
from pytest_ngraph.stats import Estimate

CASES = [case(compiler, size) for compiler in ("identity", "tvm") for size in (1, 2, 4)]
OWN = Metric("mine.score", CASES[0], Estimate.exactly(3.0))
METRICS = compute([measured(each, 0.1) for each in CASES], extra=[OWN])


def test_cases_come_in_their_order_and_those_that_were_not_measured_are_missing() -> None:
    assert list(METRICS.by_case) == CASES
    assert len(METRICS.by_case) == len(CASES)
    assert case("openvino") not in METRICS.by_case
    with pytest.raises(KeyError):
        METRICS[case("openvino")]


def test_a_case_has_its_metrics_by_name_and_the_users_own_after_them() -> None:
    own, other = METRICS[CASES[0]], METRICS[CASES[1]]
    assert [*own][-1] == "mine.score"
    assert [own[name].name for name in own] == [*own]
    assert (len(own), len(other)) == (len([*own]), len([*own]) - 1)
    assert "mine.score" in own
    assert "mine.score" not in other
    with pytest.raises(KeyError):
        other["mine.score"]


def test_metrics_are_found_by_their_names_wherever_they_extend() -> None:
    wide = Metric("mine.all", Scope(compiler="tvm"), Estimate.exactly(4.0))
    metrics = compute([measured(each, 0.1) for each in CASES], extra=[OWN, wide])
    names = {"speedup", "friction", "mine.score", "mine.all"}
    assert [*metrics.named(names)] == [metric for metric in metrics if metric.name in names]
    assert {metric.name for metric in metrics.named(names)} == names
    assert [*metrics.named(())] == []


def test_a_long_run_holds_no_metric_of_a_case_before_it_is_read() -> None:
    def alive() -> int:
        gc.collect()
        return sum(isinstance(each, Metric) and each.case is not None for each in gc.get_objects())

    records, before = [measured(case("tvm", size), 0.1) for size in range(1, 200)], alive()
    metrics = compute(records)
    assert alive() == before
    assert len([metric for own in metrics.by_case.values() for metric in own.values()]) > len(records) * 20
