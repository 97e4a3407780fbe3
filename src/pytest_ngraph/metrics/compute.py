"""Compute metrics from records."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pytest_ngraph.case import Case
from pytest_ngraph.errors import UsageError
from pytest_ngraph.metrics.axes import axes_of
from pytest_ngraph.metrics.between import IN_GENERAL, Between
from pytest_ngraph.metrics.by_case import ByCase
from pytest_ngraph.metrics.cases import case_columns
from pytest_ngraph.metrics.cells import Cells
from pytest_ngraph.metrics.column import Column
from pytest_ngraph.metrics.curves import Curves
from pytest_ngraph.metrics.definitions import DEFINITIONS
from pytest_ngraph.metrics.metric import Inversion, Metric, Metrics, Scope
from pytest_ngraph.metrics.panels import Chunk, Panels
from pytest_ngraph.metrics.ranks import rank_inversions
from pytest_ngraph.metrics.ratios import fill
from pytest_ngraph.metrics.stacks import Stacks
from pytest_ngraph.record import Record
from pytest_ngraph.stats import Estimate


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """The content of `Metrics` as columns.

    Attributes:
        by_name: the metrics of cases, with a row for each cell.
        spans: what spans several cells, with its metrics.
        ranks: the numbers of rank inversions.
    """

    cells: Cells
    by_name: Mapping[str, Column]
    spans: tuple[Curves | Stacks, ...]
    ranks: tuple[Metric, ...]
    inversions: tuple[Inversion, ...]

    @property
    def wider(self) -> tuple[Metric, ...]:
        """The metrics that span several cells."""
        return (*(metric for span in self.spans for metric in span.metrics()), *self.ranks)


def compute(records: Sequence[Record], extra: Iterable[Metric] = (), between: Between = IN_GENERAL) -> Metrics:
    """Return every metric of the records, which may be of several devices, precisions and objectives.

    Of a case recorded twice, the later record counts. Time grows in proportion to the records, except for rank
    inversions, which compare the workloads of one batch size pair by pair.

    Args:
        records: what was measured.
        extra: metrics of the user's own.
        between: how much processes of the same code differ on the machine.

    Raises:
        UsageError: one of `extra` is not a valid metric, or has the name of a built-in one.
    """
    columns = columns_of(Cells.of(records), between)
    sessions = dict(zip(columns.cells.cases, columns.cells.sessions, strict=True))
    own: list[Metric] = []
    wider = [*columns.wider]
    for metric in extra:
        _check_own(metric)
        (own if metric.case in sessions else wider).append(metric)
    by_case = ByCase(columns.cells.cases, columns.by_name, own)
    return Metrics(by_case, tuple(wider), columns.inversions, between, sessions)


def columns_of(cells: Cells, between: Between = IN_GENERAL) -> Columns:
    """Return every metric of the cells.

    Draws are made for a chunk of cells at a time, so that memory grows with the cells but not with their draws. Threads
    do not make it faster: NumPy's calls are so short that these would wait for each other.
    """
    panels = Panels.of(cells)
    by_name = case_columns(panels)
    spans: list[Curves | Stacks] = [*(Curves(panels, axis) for axis in axes_of(cells.cases)), Stacks(panels)]

    for rows in panels.chunks():
        chunk = Chunk(panels, rows)
        fill(by_name, chunk)
        for span in spans:
            span.fill(chunk)
    ranks, inversions = [], []
    for metric, found in rank_inversions(cells, between):
        ranks.append(metric)
        inversions += found
    return Columns(cells, by_name, tuple(spans), tuple(ranks), tuple(inversions))


def _check_own(metric: Metric) -> None:
    """Raise `UsageError` if the user's code did not give a valid metric."""
    if not isinstance(metric, Metric) or not isinstance(metric.scope, Case | Scope):
        raise UsageError(
            f"the hook pytest_ngraph_metrics returned {metric!r}. Return pytest_ngraph.Metric(name, scope, estimate), "
            "whose scope is a Case or a Scope."
        )
    estimate = metric.estimate
    if estimate is not None and not (isinstance(estimate, Estimate) and not any(map(math.isnan, estimate))):
        raise UsageError(
            f"{metric.name} of {metric.scope.id} has the estimate {estimate!r}. Give an Estimate(value, low, high) "
            "without NaN, or leave the estimate out and give absent='the reason'."
        )
    if estimate is not None and not estimate.low <= estimate.value <= estimate.high:
        raise UsageError(
            f"{metric.name} of {metric.scope.id} has the estimate {estimate!r}, whose value is not in its interval. "
            "Give an Estimate(value, low, high) with both ends of the interval, or Estimate.exactly(value)."
        )
    if "." not in metric.name:
        raise UsageError(
            f"your metric {metric.name!r} has no dot in its name. Put a prefix in front, such as "
            f"'mine.{metric.name}': names without a dot are the plugin's ({', '.join(DEFINITIONS)})."
        )
