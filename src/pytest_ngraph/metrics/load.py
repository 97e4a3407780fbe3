"""The highest rate of requests that keeps a limit, from what rates near it showed.

p99 of a thousand requests varies by tens of percent with when these happened to arrive, and the arrivals are known. So
each rate is compared with a simulation of the same arrivals: it shows the time of a call, a constant one, whose p99
would have been the same. Of such calls it is known, from longer simulations, which rate keeps the limit. Each rate
shows that rate once; the result is their mean in logarithms, with Student's interval over the rates.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from statistics import fmean, median, stdev

import numpy as np

from pytest_ngraph.case import SERVING
from pytest_ngraph.load import STARTING, Load, Rate, simulate
from pytest_ngraph.metrics.between import TAIL
from pytest_ngraph.metrics.cells import Cells
from pytest_ngraph.metrics.column import Column, Same
from pytest_ngraph.metrics.percentiles import SPARE, fewest_calls
from pytest_ngraph.metrics.student import t_quantile
from pytest_ngraph.stats import Estimate, Estimates

MAX_RATE = "max_rate"
P99 = 0.99
SHOWN = {"p50_s": 0.50, "p95_s": 0.95, "p99_s": P99}
NOT_UNDER_LOAD = "not put under load: --objective=serving"
AROUND = (1.0, 0.93, 1.07, 0.96, 1.04, 1.0)
"""Rates to measure, over the highest one as the rates before show it."""
FEWEST_REQUESTS = math.ceil(SPARE * fewest_calls(P99) / (1 - STARTING))
"""Fewest requests of a rate that show p99, the first ones that do not count included."""
SIMULATED = 15_000
"""Requests of a longer simulation."""
ACCURACY = 1e-3
"""Relative accuracy of what is searched."""
IDLE = 0.005
"""At this utilization, fewer requests wait behind others than p99 leaves out."""
OTHER_CALLS = 0.1
"""By how much the logarithm of a call's time may differ in other processes, at 95 % on machines in general."""


def column(cells: Cells, unmeasured: Mapping[int, str]) -> Column:
    """Return the highest rates of all cells. `unmeasured` says why cells have no measurement, by row."""
    found = {row: highest_rate(load) for row, load in cells.loads.items() if row not in unmeasured}
    known = {row: each for row, each in found.items() if isinstance(each, Estimate)}
    reasons = {row: each for row, each in found.items() if isinstance(each, str)}
    others = np.ones(len(cells.cases), dtype=np.bool_)
    others[list(known)] = False
    failed = {row: load.problem for row, load in cells.loads.items() if load.failed and row in found}
    steepness = {row: load.steepness for row, load in cells.loads.items()}
    filled = replace(
        Column.empty(len(cells.cases), Same(others, NOT_UNDER_LOAD), reasons, unmeasured),
        failed=failed,
        steepness=steepness,
    )
    elsewhere = [row for row, case in enumerate(cells.cases) if case.objective != SERVING and row not in unmeasured]
    filled.by_definition[elsewhere] = True
    rows = np.array(list(known), dtype=np.intp)
    filled.put(rows, Estimates(*np.array(list(known.values()), dtype=np.float64).reshape(-1, 3).T))
    return filled


def highest_rate(load: Load) -> Estimate | str:
    """Return the highest rate that keeps the limit, with its 95 % interval; else why it is not known.

    With a single rate, the interval has no ends. Where rates show that none keeps the limit, there is no mean of
    logarithms: the result is then the median, with an interval from 0 to the highest that was shown.
    """
    if load.is_hopeless:
        return Estimate.exactly(0.0)
    if not load.rates:
        return load.problem or "the load ended early"
    shown = [rate.shows for rate in load.rates]
    if len(shown) == 1:
        return Estimate(shown[0], 0.0, math.inf)
    if not all(shown):
        return Estimate(median(shown), 0.0, max(shown))
    logs = [math.log(each) for each in shown]
    reach = t_quantile(TAIL, len(logs) - 1) * stdev(logs) / math.sqrt(len(logs))
    middle = fmean(logs)
    return Estimate(math.exp(middle), math.exp(middle - reach), math.exp(middle + reach))


def next_rate(shown: Sequence[float], guess: float) -> float | None:
    """Return the rate to measure next; None when there are enough.

    Args:
        shown: what the rates so far show the highest one to be; 0 where none keeps the limit. Where most show that, it
            is settled.
        guess: what it is before any is measured.
    """
    known = [each for each in shown if each]
    if len(shown) == len(AROUND) or len(shown) - len(known) > len(AROUND) / 2:
        return None
    nearest = math.exp(fmean(map(math.log, known))) if known else guess
    return AROUND[len(shown)] * nearest


def shown_by(rate: Rate, load: Load, requests: int, *, seed: int, batch: int) -> float:
    """Return the highest rate as one rate shows it; 0 where it shows that none keeps the limit.

    Args:
        rate: what it showed.
        load: the limit, and how long a request waits for others.
        requests: how many there were, the first ones that do not count included.
        seed: of their schedule.
        batch: most requests of a call.
    """
    p99_s = p99_of(rate)

    def keeps(call_s: float) -> bool:
        same = simulate(rate.per_s, requests, lambda: call_s, seed=seed, batch=batch, batch_wait_s=load.batch_wait_s)
        return p99_of(same) <= p99_s

    call_s = _highest(keeps, p99_s / (2 * requests), p99_s)
    return highest_of(call_s, load, batch=batch, seed=seed)


def highest_of(call_s: float, load: Load, *, batch: int, seed: int = 0) -> float:
    """Return the highest rate that keeps the limit where all calls take as long; 0 where none does."""
    if load.is_too_long(call_s):
        return 0.0

    def keeps(per_s: float) -> bool:
        found = simulate(per_s, SIMULATED, lambda: call_s, seed=-1 - seed, batch=batch, batch_wait_s=load.batch_wait_s)
        return p99_of(found) <= load.limit_s

    return _highest(keeps, IDLE / call_s, batch / call_s)


def steepness_of(load: Load, *, batch: int) -> float:
    """Return by how many percent the highest rate changes where a call's time changes by 1 %.

    A request waits for calls before it, so that it is more than 1 %, and much more where a call takes half of the
    limit. It is the mean over `OTHER_CALLS`, to the side on which it is larger.
    """
    found = highest_rate(load)
    if isinstance(found, str) or not found.value:
        return 1.0
    rate, idle = found.value, IDLE / load.limit_s

    def keeps(call_s: float) -> bool:
        same = simulate(rate, SIMULATED, lambda: call_s, seed=-1, batch=batch, batch_wait_s=load.batch_wait_s)
        return p99_of(same) <= load.limit_s

    call_s = _highest(keeps, 0.0, load.limit_s)
    slower, faster = (highest_of(call_s * math.exp(by), load, batch=batch) for by in (OTHER_CALLS, -OTHER_CALLS))
    return steepest(max(slower, idle), rate, faster)


def steepest(slower: float, rate: float, faster: float) -> float:
    """Return the larger of the two steepnesses between highest rates, of calls that differ by `OTHER_CALLS` each."""
    return max(math.log(after / before) for before, after in pairwise((slower, rate, faster))) / OTHER_CALLS


def percentiles_over_rate(load: Load) -> list[dict[str, float]]:
    """Return p50, p95 and p99 of the requests at each rate, in rising order: `per_s`, `p50_s`, `p95_s`, `p99_s`."""
    return [
        {"per_s": rate.per_s} | {name: float(np.quantile(rate.seconds, share)) for name, share in SHOWN.items()}
        for rate in sorted(load.rates, key=lambda rate: rate.per_s)
    ]


def p99_of(rate: Rate) -> float:
    """Return the seconds that 99 of 100 requests did not exceed."""
    return float(np.quantile(rate.seconds, P99))


def _highest(keeps: Callable[[float], bool], least: float, most: float) -> float:
    """Return the highest value up to `most` that keeps a limit; about `least` where none does."""
    low, high = least, most
    while high - low > ACCURACY * high:
        middle = (low + high) / 2
        low, high = (middle, high) if keeps(middle) else (low, middle)
    return (low + high) / 2
