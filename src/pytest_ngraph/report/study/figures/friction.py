"""The efficiency that each compiler loses as batches grow."""

from __future__ import annotations

from pytest_ngraph.report.study.data import Study
from pytest_ngraph.report.study.figures import dots
from pytest_ngraph.report.study.figures.figure import Figure
from pytest_ngraph.report.study.figures.rows import of_metric


def friction(study: Study) -> Figure:
    figure = Figure(
        name="friction",
        title="Friction as batches grow",
        note="φ of the fit ASE(b) = b^-φ over all batch sizes, with 95 % intervals: 0 scales perfectly, at 1 (dashed) "
        "throughput is saturated, above it batching hurts.",
    )
    rows = of_metric(study, "friction")
    if rows.is_empty():
        return figure.without("needs a workload at batch size 1 and at another one")
    return dots.drawn(figure, study, rows.with_columns(panel="place"), "friction φ")
