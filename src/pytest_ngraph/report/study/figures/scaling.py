"""Figures 8 and 9: scaling of models with the batch size."""

from __future__ import annotations

import polars as pl

from pytest_ngraph.report.study.data import Study
from pytest_ngraph.report.study.figures import panels
from pytest_ngraph.report.study.figures.figure import Figure
from pytest_ngraph.report.study.figures.rows import COMPILED, in_panels, of_metric, of_models


def ase(study: Study) -> Figure:
    figure = Figure(
        name="ase",
        number="8",
        title="Absolute scaling efficiency (ASE)",
        note="T(b) / (b T(1)) of each model, with 95 % intervals; 1 is perfect, and at 1/b batching gains nothing.",
    )
    rows = _over_batch_sizes(of_metric(study, "ase"))
    if rows.is_empty():
        return figure.without("needs a model at batch size 1 and at another one")
    return panels.drawn(figure, study, rows, panels.batch_sizes(), "ASE")


def bsr(study: Study) -> Figure:
    figure = Figure(
        name="bsr",
        number="9",
        title="Batch scaling resilience (BSR)",
        note="ASE over that of identity, with 95 % intervals; below the dashed line the compiler loses more efficiency "
        "than identity as batches grow.",
    )
    rows = _over_batch_sizes(of_metric(study, "bsr", COMPILED))
    if rows.is_empty():
        return figure.without(
            "needs a model under identity and under another compiler, both at batch size 1 and at another one"
        )
    return panels.drawn(figure, study, rows, panels.batch_sizes(), "BSR", reference=1)


def _over_batch_sizes(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the models' rows, without panels that have only batch size 1, where all ratios are one."""
    panelled = in_panels(of_models(rows), "{} on {}", "network", "place")
    return panelled.filter((pl.col("batch_size") > 1).any().over("panel"))
