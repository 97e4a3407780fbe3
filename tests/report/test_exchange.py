"""The formats of other tools, as these tools document them."""

from __future__ import annotations

import math

import pytest
from launched import costs
from synthetic import case, failed, measured, noisy, skipped

from pytest_ngraph.costs import COSTS
from pytest_ngraph.metrics import compute
from pytest_ngraph.record import Record
from pytest_ngraph.report.exchange import bencher, github_action_benchmark
from pytest_ngraph.report.exchange import measured as measured_ones

RECORDS = [
    noisy(case("openvino", 8), 0.02),
    measured(case("identity", 8), 0.04, rounds=2),
]


def test_bencher_metric_format() -> None:
    """Bencher's JSON schema: names, measures, and numbers of which only `value` is required."""
    exported = bencher(RECORDS, compute(RECORDS))
    assert list(exported) == ["resnet18-openvino-b8-xeon", "resnet18-identity-b8-xeon"]
    for measures in exported.values():
        assert set(measures) == {"latency", "throughput"}
        for metric in measures.values():
            assert set(metric) in ({"value"}, {"value", "lower_value", "upper_value"})
            assert all(isinstance(number, float) and math.isfinite(number) for number in metric.values())
    latency, throughput = exported["resnet18-openvino-b8-xeon"].values()
    assert latency["value"] == pytest.approx(0.02e9, rel=0.02)
    assert latency["lower_value"] < latency["value"] < latency["upper_value"]
    assert throughput["value"] == pytest.approx(8e9 / latency["value"])
    assert set(exported["resnet18-identity-b8-xeon"]["latency"]) == {"value"}, "two rounds have no interval"


def test_bencher_gets_the_percentiles_that_there_are() -> None:
    records = [measured(case("openvino"), 0.02, calls=(0.02,) * 100)]
    (measures,) = bencher(records, compute(records)).values()
    assert list(measures) == ["latency", "p50", "p90", "p95", "throughput"]
    assert measures["p95"]["value"] == pytest.approx(0.02e9)


def test_custom_smaller_is_better() -> None:
    """The `BenchmarkResult` of github-action-benchmark: texts and one number; `range` and `extra` are optional."""
    exported = github_action_benchmark(RECORDS, compute(RECORDS))
    for entry in exported:
        assert {"name", "unit", "value"} <= set(entry) <= {"name", "unit", "value", "range", "extra"}
        assert all(isinstance(entry[key], float if key == "value" else str) for key in entry)
    openvino, identity = exported
    assert (openvino["name"], openvino["unit"]) == ("resnet18-openvino-b8-xeon", "ms")
    assert openvino["value"] == pytest.approx(20, rel=0.02)
    assert openvino["range"].startswith("± 0.")
    assert openvino["extra"].startswith("throughput: ")
    assert openvino["extra"].endswith("rounds: 15")
    assert "range" not in identity


def test_only_measurements_are_exported_the_last_of_each_case() -> None:
    first, second = measured(case(), 0.02), measured(case(), 0.03)
    records: list[Record] = [first, failed(case("tvm")), skipped(case("tensorrt"), "no GPU"), second]
    assert measured_ones(records) == [second]


def test_several_at_a_time_have_no_latency() -> None:
    records = [measured(case("openvino", 8, objective="throughput"), 0.01)]
    metrics = compute(records)
    (measures,) = bencher(records, metrics).values()
    assert measures.keys() == {"throughput"}
    assert github_action_benchmark(records, metrics)[0]["unit"] == "ms per iteration"


def test_costs_to_serve_are_measures_where_they_were_measured() -> None:
    records = [measured(case("openvino"), 0.01, serving=costs(1.0, 1.1))]
    measures = bencher(records, compute(records))["resnet18-openvino-b1-xeon"]
    assert set(measures) == {"latency", "throughput", *COSTS}
    assert measures["cold_start_s"] == {"value": pytest.approx(0.525)}
    assert measures["artifact_bytes"]["value"] == 40 * 2**20
