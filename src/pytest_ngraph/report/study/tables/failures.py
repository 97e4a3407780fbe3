"""Cases that were not measured, or that cannot be deployed, and why."""

from __future__ import annotations

import polars as pl

from pytest_ngraph.report.study.columns import text
from pytest_ngraph.report.study.data import Study
from pytest_ngraph.report.study.tables.table import NETWORK, Table


def failures(study: Study) -> Table:
    unmeasured = text("reason").str.strip_prefix("was ")
    reason = pl.concat_str(unmeasured, "undeployable")  # one of them is empty
    rows = study.cases.filter((pl.col("outcome") != "measured") | (pl.col("undeployable") != "")).select(
        *NETWORK, "compiler", "batch_size", "outcome", reason, "run"
    )
    return Table.of(
        "failures",
        "What failed, was skipped, or cannot be deployed",
        "Cases that failed, disagreed with eager PyTorch or were skipped, with the phase and the reason; and those "
        "that were measured, but cannot be deployed.",
        rows.sort("device", "compiler", maintain_order=True),
        missing="every case was measured",
    )
