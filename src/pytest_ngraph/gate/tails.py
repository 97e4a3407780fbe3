"""How the percentiles of a case's single calls changed from the base to the head."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import chain
from statistics import fmean

import numpy as np

from pytest_ngraph.gate.changes import SPREADS, Reading, Uncompared, comparison_of
from pytest_ngraph.gate.launches import Effect
from pytest_ngraph.gate.pooling import departure, pool
from pytest_ngraph.gate.verdict import SAME
from pytest_ngraph.metrics.percentiles import PERCENTILES, UNTIMED, log_error, too_few
from pytest_ngraph.record import Record


def percentile_of_launches(record: Record, metric: str) -> Reading:
    """Return what the launches of a record's comparison, in which single calls were timed, show of a percentile.

    As for times, a launch is the sampling unit. The error within launches is that of the percentiles of all calls of
    the head and of the base, as if they were independent. That is too much where a disturbance hits both.

    Raises:
        Uncompared: the case was not compared, equals its base's, or too few calls were timed.
    """
    comparison = comparison_of(record)
    if comparison.same:
        raise Uncompared("unchanged", SAME)
    if comparison.calls_problem or not comparison.calls:
        raise Uncompared("inconclusive", comparison.calls_problem or UNTIMED)
    heads, bases = ([launch.head for launch in comparison.calls], [launch.base for launch in comparison.calls])
    error = math.hypot(*(_effect(list(chain.from_iterable(arm)), metric).standard_error for arm in (heads, bases)))
    logs = [[_log(calls, metric) for calls in arm] for arm in (heads, bases)]
    each = math.sqrt(len(comparison.calls)) * error
    changes = [Effect(head - base, each) for head, base in zip(*logs, strict=True)]
    return Reading(math.exp(fmean(logs[0])), pool(changes, SPREADS[metric]))


def percentile_of_runs(record: Record, runs: Sequence[Record], metric: str) -> Reading:
    """Return a percentile of a record's single calls, compared with the records of a stored baseline.

    Raises:
        Uncompared: this run or the baseline timed none, or too few.
    """
    known = [_effect(each.calls, metric) for each in runs if each.calls]
    if not record.calls:
        raise Uncompared("inconclusive", UNTIMED)
    if not known:
        raise Uncompared("new", "single calls were not timed in the baseline")
    own = _effect(record.calls, metric)
    return Reading(math.exp(own.log_ratio), departure(own, known, SPREADS[metric]))


def _effect(calls: Sequence[float], metric: str) -> Effect:
    """Return the logarithm of a percentile with its standard error. Raises `Uncompared` where that is not known."""
    share = PERCENTILES[metric]
    error = log_error(calls, share)
    if not math.isfinite(error):
        raise Uncompared("inconclusive", too_few(calls, metric) or f"{len(calls)} calls say too little of {metric}")
    return Effect(_log(calls, metric), error)


def _log(calls: Sequence[float], metric: str) -> float:
    return math.log(float(np.quantile(calls, PERCENTILES[metric])))
