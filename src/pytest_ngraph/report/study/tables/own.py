"""The user's own metrics."""

from __future__ import annotations

import polars as pl

from pytest_ngraph.report.study.data import Study
from pytest_ngraph.report.study.tables.table import NETWORK, Table


def own(study: Study) -> Table:
    """Metrics whose name has a dot."""
    rows = study.metrics.filter(pl.col("metric").str.contains(".", literal=True)).select(
        "metric", *NETWORK, "compiler", "batch_size", "value", "low", "high", "absent"
    )
    return Table.of(
        "own",
        "Metrics of your own",
        "What the project's hook pytest_ngraph_metrics gives, with its 95 % interval where it has one.",
        rows,
        missing="needs the project's hook pytest_ngraph_metrics, in the report of a run (--ngraph-report)",
    )
