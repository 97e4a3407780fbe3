"""What a session has measured, and the users' own metrics of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from synthetic import case, measured

from pytest_ngraph.metrics import Metric
from pytest_ngraph.record import Record
from pytest_ngraph.session.results import Results
from pytest_ngraph.stats import Estimate

CASE = case("tvm", 8)


def test_metrics_of_ones_own_that_cannot_be_computed_take_nothing_with_them(tmp_path: Path) -> None:
    def broken(records: Sequence[Record]) -> list[Metric]:
        raise KeyError("accuracy")

    ours = Results(broken, tmp_path)
    ours.add(measured(CASE, 0.5))
    for metrics in (ours.metrics_around(CASE, own=True), ours.metrics()):
        assert metrics[CASE]["throughput"].estimate
    (mistake,) = ours.mistakes
    raised = "the hook pytest_ngraph_metrics raises KeyError: 'accuracy' (test_results.py, line "
    assert mistake.startswith(f"metrics of your own cannot be computed, because {raised}")


def test_what_a_metric_of_ones_own_lacks_before_the_end_is_no_mistake(tmp_path: Path) -> None:
    """It compares with a case that is measured later."""
    other = case("tvm", 1, workload="another")

    def relative(records: Sequence[Record]) -> list[Metric]:
        by_case = {record.case: record for record in records}
        faster = by_case[other].rounds[0].sample_s / by_case[CASE].rounds[0].sample_s
        return [Metric("mine.relative", CASE, Estimate.exactly(faster))]

    ours = Results(relative, tmp_path)
    ours.add(measured(CASE, 0.5))
    assert "mine.relative" not in ours.metrics_around(CASE, own=True)[CASE]
    ours.add(measured(other, 0.5))
    assert "mine.relative" in ours.metrics_around(CASE, own=True)[CASE], "of another curve"
    assert "mine.relative" not in ours.metrics_around(CASE, own=False)[CASE]
    assert "mine.relative" in ours.metrics()[CASE]
    assert ours.mistakes == []
