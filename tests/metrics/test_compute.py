from __future__ import annotations

from typing import Any

import pytest
from synthetic import case, measured

from pytest_ngraph.errors import UsageError
from pytest_ngraph.metrics import DEFINITIONS, Metric, Scope, compute
from pytest_ngraph.stats import Estimate


def test_every_metric_is_defined_once_and_said_of_every_case() -> None:
    own = compute([measured(case(), 0.1)])[case()]
    assert set(own) == {name for name, definition in DEFINITIONS.items() if definition.extent == "case"}
    assert all(metric.name == name and metric.scope == case() for name, metric in own.items())


def test_nothing_gives_nothing() -> None:
    assert list(compute([])) == []


def test_of_a_case_recorded_twice_the_later_counts() -> None:
    metrics = compute([measured(case(), 0.1), measured(case(), 0.2)])
    assert metrics[case()]["latency_s"].estimate == Estimate.exactly(0.2)
    assert len(metrics.by_case) == 1


@pytest.mark.parametrize(
    "fields", [{"device": "orin"}, {"precision": "bf16"}, {"objective": "throughput"}, {"workload": "vgg16"}]
)
def test_references_share_everything_but_compiler_and_batch_size(fields: dict[str, Any]) -> None:
    other = case("tvm", **fields)
    metrics = compute([measured(case(), 0.1), measured(other, 0.1)])
    assert metrics[other]["speedup"].absent == "identity was not measured at batch size 1"


def test_own_metrics_join_their_case_or_stand_beside() -> None:
    own = Metric("study.tcr_per_s", case(), Estimate.exactly(3.0))
    wide = Metric("study.all", Scope(compiler="identity"), Estimate.exactly(4.0))
    metrics = compute([measured(case(), 0.1)], extra=[own, wide])
    assert metrics[case()]["study.tcr_per_s"] is own
    assert wide in metrics.wider
    assert {own, wide} <= set(metrics)


def test_own_metrics_have_a_dot_in_their_name() -> None:
    with pytest.raises(UsageError, match=r"'mine\.speedup'"):
        compute([], extra=[Metric("speedup", case(), Estimate.exactly(3.0))])


def test_an_own_metric_lies_in_its_interval() -> None:
    """Half widths in place of the ends would make every limit undecided, and so never breached."""
    with pytest.raises(UsageError, match=r"mine\.score of .* whose value is not in its interval\. Give an Estimate"):
        compute([], extra=[Metric("mine.score", case(), Estimate(5.0, 0.1, 0.1))])
