"""Figure 6: the gain of compilers on models."""

from __future__ import annotations

from pytest_ngraph.report.study.data import Study
from pytest_ngraph.report.study.figures import panels
from pytest_ngraph.report.study.figures.figure import Figure
from pytest_ngraph.report.study.figures.palette import Palette
from pytest_ngraph.report.study.figures.rows import compiled, fitting, in_panels, of_metric, of_models, side_by_side


def multiplier(study: Study) -> Figure:
    figure = Figure(
        name="multiplier",
        number="6",
        title="Throughput multiplier over identity",
        note="Throughput over that of identity at the same batch size, with 95 % intervals; above the dashed line "
        "compiling pays.",
    )
    rows = compiled(of_models(of_metric(study, "speedup")))
    if rows.is_empty():
        return figure.without("needs a model under identity and under another compiler at the same batch size")
    shown, left_out = fitting(in_panels(rows, "{} on {}", "network", "place"))
    return figure.drawn(
        panels.curves(
            shown,
            Palette.of(study),
            panels.batch_sizes(),
            "times identity",
            columns=side_by_side(shown),
            reference=1,
        ),
        left_out,
    )
