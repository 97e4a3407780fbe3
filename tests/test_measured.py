"""What a session has measured, and the users' own metrics of it."""

from __future__ import annotations

from collections.abc import Sequence

from synthetic import case, measured

from pytest_ngraph.measured import Measured
from pytest_ngraph.metrics import Metric
from pytest_ngraph.record import Record

CASE = case("tvm", 8)


def test_metrics_of_ones_own_that_cannot_be_computed_take_nothing_with_them() -> None:
    def broken(records: Sequence[Record]) -> list[Metric]:
        raise KeyError("accuracy")

    ours = Measured(broken)
    ours.enter(measured(CASE, 0.5))
    for metrics in (ours.metrics(), ours.metrics_around(CASE)):
        assert metrics[CASE]["throughput"].estimate
    (told,) = ours.mistakes
    assert told.startswith("metrics of your own cannot be computed: KeyError: 'accuracy' (test_measured.py, line ")
