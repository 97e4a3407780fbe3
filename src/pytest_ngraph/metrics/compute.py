"""From records to metrics."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pytest_ngraph.errors import UsageError
from pytest_ngraph.metrics.cases import case_metrics
from pytest_ngraph.metrics.cells import key_of, panels
from pytest_ngraph.metrics.definitions import DEFINITIONS
from pytest_ngraph.metrics.fits import curve_metrics, stack_metrics
from pytest_ngraph.metrics.metric import Metric, Metrics
from pytest_ngraph.metrics.ranks import rank_inversions
from pytest_ngraph.record import Record


def compute(records: Sequence[Record], extra: Iterable[Metric] = ()) -> Metrics:
    """Every metric of some records, of any number of devices, precisions and objectives.

    Of a case recorded twice the later record counts. Takes time in proportion to the records, but for rank inversions,
    which compare the workloads of one batch size pair by pair.
    extra: metrics of the user's own. Raises `UsageError` when one is named like a built-in.
    """
    by_key = panels(records)
    by_case = {}
    for case in dict.fromkeys(record.case for record in records):
        panel = by_key[key_of(case)]
        by_case[case] = case_metrics(panel, panel.cell(case.compiler, case.batch_size))
    wider = [metric for panel in by_key.values() for metric in curve_metrics(panel)]
    wider += stack_metrics(by_key.values())
    inversions = []
    for metric, found in rank_inversions(by_key.values()):
        wider.append(metric)
        inversions += found
    for metric in extra:
        _check_own(metric)
        if metric.case in by_case:
            by_case[metric.case][metric.name] = metric
        else:
            wider.append(metric)
    return Metrics(by_case, tuple(wider), tuple(inversions))


def _check_own(metric: Metric) -> None:
    if "." not in metric.name:
        raise UsageError(
            f"a metric of your own is named {metric.name!r}, which has no dot. Put a name of yours in front, such as "
            f"'mine.{metric.name}': names without a dot are the plugin's ({', '.join(DEFINITIONS)})."
        )
