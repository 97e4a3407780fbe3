"""The user's own metrics."""

from __future__ import annotations

from pytest_ngraph.report.study.columns import text
from pytest_ngraph.report.study.data import Study
from pytest_ngraph.report.study.tables.table import NETWORK, Table


def own(study: Study) -> Table:
    """Return the table of metrics whose name has a dot."""
    rows = study.wider.filter(text("metric").str.contains(".", literal=True)).select(
        "metric", *NETWORK, "compiler", "batch_size", "value", "low", "high", "absent"
    )
    return Table.of(
        "own",
        "Metrics of your own",
        "Metrics from the project's hook pytest_ngraph_metrics, with 95 % intervals where they have one.",
        rows,
        missing="needs the project's hook pytest_ngraph_metrics, in the report of a run (--ngraph-report)",
    )
