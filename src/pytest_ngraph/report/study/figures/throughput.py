"""Figures 5 and 6: throughput of models, compiled and uncompiled, and the gain of compilers."""

from __future__ import annotations

from pytest_ngraph.report.study.data import Study
from pytest_ngraph.report.study.figures import panels
from pytest_ngraph.report.study.figures.figure import Figure
from pytest_ngraph.report.study.figures.rows import COMPILED, MODELS, in_panels, of_metric


def throughput(study: Study) -> Figure:
    figure = Figure(
        name="throughput",
        number="5",
        title="Throughput, compiled against uncompiled",
        note="A panel for each model and device; where every family has every size, a column is a family and a row is "
        "a size. Batch size over the median seconds per iteration; bars are 95 % intervals.",
    )
    rows = of_metric(study, "throughput", MODELS)
    if rows.is_empty():
        return figure.without("needs a measured model")
    panelled = in_panels(rows, "{} on {}", "network", "place")
    return panels.drawn(figure, study, panelled, panels.batch_sizes(), "samples/s")


def multiplier(study: Study) -> Figure:
    figure = Figure(
        name="multiplier",
        number="6",
        title="Throughput multiplier over identity",
        note="Throughput over that of identity at the same batch size, with 95 % intervals; above the dashed line "
        "compiling pays.",
    )
    rows = of_metric(study, "speedup", MODELS & COMPILED)
    if rows.is_empty():
        return figure.without("needs a model under identity and under another compiler at the same batch size")
    panelled = in_panels(rows, "{} on {}", "network", "place")
    return panels.drawn(figure, study, panelled, panels.batch_sizes(), "times identity", reference=1)
