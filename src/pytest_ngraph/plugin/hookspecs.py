"""Hooks that pytest-ngraph calls, for conftest files and other plugins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pytest_ngraph.metrics import Metric
    from pytest_ngraph.record import Record


@pytest.hookspec
def pytest_ngraph_record(record: Record) -> None:
    """Called with every record, also of failed and skipped cases, after it was stored or could not be stored.

    A resumed run also calls it with the records that it takes over, so that a case can come once in each session. The
    test of a record that could not be stored fails.
    """


@pytest.hookspec
def pytest_ngraph_metrics(records: Sequence[Record]) -> Sequence[Metric]:  # type: ignore[empty-body]
    """Metrics of your own, computed from the records of the run; they are summarised and can be gated.

    Called at the end with all records. Where a threshold is about such a metric, it is also called before, with the
    records so far.
    """
