"""From records to metrics."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pytest_ngraph.case import Case
from pytest_ngraph.errors import UsageError
from pytest_ngraph.metrics.cases import case_columns, fill
from pytest_ngraph.metrics.cells import Cells
from pytest_ngraph.metrics.column import Column
from pytest_ngraph.metrics.curves import Curves
from pytest_ngraph.metrics.definitions import DEFINITIONS
from pytest_ngraph.metrics.metric import Inversion, Metric, Metrics, Scope
from pytest_ngraph.metrics.panels import Panels
from pytest_ngraph.metrics.ranks import rank_inversions
from pytest_ngraph.metrics.stacks import Stacks
from pytest_ngraph.record import Record
from pytest_ngraph.stats import Estimate


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """What `Metrics` holds, with the metrics of cases as columns: `by_name` has a row for each cell."""

    cells: Cells
    by_name: Mapping[str, Column]
    wider: tuple[Metric, ...]
    inversions: tuple[Inversion, ...]


def compute(records: Sequence[Record], extra: Iterable[Metric] = ()) -> Metrics:
    """Every metric of some records, of any number of devices, precisions and objectives.

    Of a case recorded twice the later record counts. Takes time in proportion to the records, but for rank inversions,
    which compare the workloads of one batch size pair by pair.
    extra: metrics of the user's own. Raises `UsageError` when one is none, or is named like a built-in.
    """
    columns = columns_of(Cells.of(records))
    by_case = {
        case: {name: column.metric(name, row, case) for name, column in columns.by_name.items()}
        for row, case in enumerate(columns.cells.cases)
    }
    wider = [*columns.wider]
    for metric in extra:
        _check_own(metric)
        if metric.case in by_case:
            by_case[metric.case][metric.name] = metric
        else:
            wider.append(metric)
    return Metrics(by_case, tuple(wider), columns.inversions)


def columns_of(cells: Cells) -> Columns:
    """Every metric of some cells.

    Memory grows with the cells, but not with their draws: these are made for a chunk of cells at a time.
    """
    panels = Panels.of(cells)
    by_name, curves, stacks = case_columns(panels), Curves(panels), Stacks(panels)
    for chunk in panels.chunks():
        fill(by_name, chunk)
        curves.fill(chunk)
        stacks.fill(chunk)
    wider = [*curves.metrics(), *stacks.metrics()]
    inversions = []
    for metric, found in rank_inversions(cells):
        wider.append(metric)
        inversions += found
    return Columns(cells, by_name, tuple(wider), tuple(inversions))


def _check_own(metric: Metric) -> None:
    """Raise `UsageError` for what the user's code gave in the place of a metric."""
    if not isinstance(metric, Metric) or not isinstance(metric.scope, Case | Scope):
        raise UsageError(
            f"a metric of your own is {metric!r}. Give pytest_ngraph.Metric(name, scope, estimate), whose scope is a "
            "Case or a Scope."
        )
    estimate = metric.estimate
    if estimate is not None and not (isinstance(estimate, Estimate) and not any(map(math.isnan, estimate))):
        raise UsageError(
            f"{metric.name} of {metric.scope.id} has the estimate {estimate!r}. Give an Estimate(value, low, high) of "
            "numbers, or absent='why there is none'."
        )
    if "." not in metric.name:
        raise UsageError(
            f"a metric of your own is named {metric.name!r}, which has no dot. Put a name of yours in front, such as "
            f"'mine.{metric.name}': names without a dot are the plugin's ({', '.join(DEFINITIONS)})."
        )
