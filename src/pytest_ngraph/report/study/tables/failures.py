"""Cases that were not measured, and why."""

from __future__ import annotations

import polars as pl

from pytest_ngraph.report.study.data import Study
from pytest_ngraph.report.study.tables.table import NETWORK, Table


def failures(study: Study) -> Table:
    rows = study.cases.filter(pl.col("outcome") != "measured").select(
        *NETWORK, "compiler", "batch_size", "outcome", pl.col("reason").str.strip_prefix("was "), "run"
    )
    return Table.of(
        "failures",
        "What was not measured",
        "Cases that failed, disagreed with eager PyTorch or were skipped, with the phase and the reason.",
        rows.sort("device", "compiler", maintain_order=True),
        missing="every case was measured",
    )
