"""Figure 5: throughput of models, compiled and uncompiled."""

from __future__ import annotations

from pytest_ngraph.report.study.data import Study
from pytest_ngraph.report.study.figures import panels
from pytest_ngraph.report.study.figures.figure import Figure
from pytest_ngraph.report.study.figures.palette import Palette
from pytest_ngraph.report.study.figures.rows import fitting, in_panels, of_metric, of_models, side_by_side


def throughput(study: Study) -> Figure:
    figure = Figure(
        name="throughput",
        number="5",
        title="Throughput, compiled against uncompiled",
        note="A panel for each model and device; where every family has every size, a column is a family and a row is "
        "a size. Batch size over the median seconds per iteration; bars are 95 % intervals.",
    )
    rows = of_models(of_metric(study, "throughput"))
    if rows.is_empty():
        return figure.without("needs a measured model")
    shown, left_out = fitting(in_panels(rows, "{} on {}", "network", "place"))
    x, columns = panels.batch_sizes(), side_by_side(shown)
    return figure.drawn(panels.curves(shown, Palette.of(study), x, "samples/s", columns=columns), left_out)
