from __future__ import annotations

import math

import pytest
from synthetic import case

from pytest_ngraph.metrics import Metric
from pytest_ngraph.metrics.definitions import Unit
from pytest_ngraph.metrics.text import in_words, number, quantity, ratio, with_interval
from pytest_ngraph.stats import Estimate


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.41234, "0.412"),
        (9.9999, "10.0"),
        (26.24, "26.2"),
        (1234.5, "1234"),
        (0, "0.00"),
        (1e9, "1.00e+09"),
        (2e-7, "2.00e-07"),
    ],
)
def test_number(value: float, text: str) -> None:
    assert number(value) == text


@pytest.mark.parametrize(("value", "text"), [(1.654, "1.65"), (0.1, "0.10"), (1 / 256, "0.00391"), (0, "0.00")])
def test_ratio(value: float, text: str) -> None:
    assert ratio(value) == text


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.00521, "s", "5.21 ms"),
        (3e-7, "s", "0.300 us"),
        (90, "s", "1.50 min"),
        (900 * 2**20, "B", "900 MiB"),
        (12, "B", "12.0 B"),
        (2, "count", "2"),
        (88, "%", "88.0 %"),
        (math.inf, "samples", "never"),
    ],
)
def test_quantity(value: float, unit: Unit, text: str) -> None:
    assert quantity(value, unit) == text


@pytest.mark.parametrize(
    ("estimate", "unit", "text"),
    [
        (Estimate(0.4123, 0.39, 0.43), "ratio", "0.41 [0.39, 0.43]"),
        (Estimate(0.00521, 0.0051, 0.0054), "s", "5.2 ms [5.1, 5.4]"),
        (Estimate(1050.0, 1000.0, 1100.0), "samples/s", "1050 samples/s [1000, 1100]"),
        (Estimate(2.0, -math.inf, math.inf), "ratio", "2.00 [?, ?]"),
        (Estimate(-0.0001, -0.01, 0.01), "ratio", "0.000 [-0.010, 0.010]"),
        (Estimate(2.5e-7, 2.4e-7, 2.6e-7), "ratio", "2.50e-07 [2.40e-07, 2.60e-07]"),
        (Estimate(0.0, -9e-5, 9e-5), "ratio", "0e+00 [-9e-05, 9e-05]"),
        (Estimate(5e-5, 0.0, 2e-4), "ratio", "0.00005 [0.00000, 0.00020]"),
        (Estimate.exactly(3.2), "s", "3.20 s"),
    ],
)
def test_interval_decides_the_digits(estimate: Estimate, unit: Unit, text: str) -> None:
    assert with_interval(estimate, unit) == text


def test_absent_metric_gives_its_reason() -> None:
    assert in_words(Metric("speedup", case(), absent="no identity")) == "absent (no identity)"
    assert in_words(Metric("mine.score", case(), Estimate.exactly(2.5))) == "2.50"


def test_what_may_never_be_paid_back() -> None:
    assert with_interval(Estimate(520.0, 300.0, math.inf), "samples") == "520 samples [300 samples, never]"
    assert with_interval(Estimate(520.0, -math.inf, math.inf), "samples") == "520 samples [?, ?]"
