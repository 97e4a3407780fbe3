"""Put the arms of the objective `serving` under load, to find at which rate 99 of 100 requests stay under the limit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol

from pytest_ngraph.artifact import Target
from pytest_ngraph.bench.processes.process import WorkerFailed, in_one_line
from pytest_ngraph.bench.progress import Progress
from pytest_ngraph.case import SERVING, Case
from pytest_ngraph.errors import Unsupported
from pytest_ngraph.load import OWN_CORE, SHARES_CORES, Load, Rate
from pytest_ngraph.machine.cores import to_compile_on
from pytest_ngraph.machine.machine import this_machine
from pytest_ngraph.metrics.load import AROUND, FEWEST_REQUESTS, highest_of, next_rate, shown_by, steepness_of
from pytest_ngraph.settings import Settings

MOST_REQUESTS = 3000
"""Most requests of a rate: each is stored."""
MOST_SHARES = 2
"""A rate that is lower than the guess may take this many times its share of the seconds."""


class Serves(Protocol):
    """What is asked of an arm that is put under load."""

    @property
    def case(self) -> Case: ...

    @property
    def target(self) -> Target: ...

    @property
    def has_single_calls(self) -> bool: ...

    @property
    def is_compared(self) -> bool: ...

    @property
    def seconds_per_call(self) -> float: ...

    def serve(self, per_s: float, requests: int, **how: Any) -> Rate: ...

    def note(self, *, load: Load) -> None: ...


def put_under_load(arms: Sequence[Serves], settings: Settings, progress: Progress) -> None:
    """Measure one arm after the other at several rates, and have it note what that showed.

    Its rounds stand, whatever happens: what stops the load is kept in it. Beside a base, nothing is put under load.
    """
    for arm in arms:
        if arm.case.objective == SERVING and arm.has_single_calls and not arm.is_compared:
            load = _load_of(arm, settings, progress)
            arm.note(load=replace(load, steepness=steepness_of(load, batch=arm.case.batch_size)))


def _load_of(arm: Serves, settings: Settings, progress: Progress) -> Load:
    """Return what an arm shows at several rates, and what stopped it before the last."""
    spare = [core for core in this_machine().cores if core not in arm.target.cores][:1]
    batch = arm.case.batch_size
    load = Load(
        limit_s=settings.load_p99_s,
        call_s=arm.seconds_per_call,
        batch_wait_s=settings.batch_wait_s if batch > 1 else 0.0,
        generator=OWN_CORE if spare else SHARES_CORES,
    )
    if load.is_hopeless:
        return load
    guess = highest_of(load.call_s, load, batch=batch)
    requests = min(MOST_REQUESTS, int(settings.load_s * guess / len(AROUND)))
    if requests < FEWEST_REQUESTS:
        seconds = math.ceil(len(AROUND) * FEWEST_REQUESTS / guess)
        return replace(load, problem=f"too few requests fit into the time; --ngraph-load={seconds} has enough")
    slowest = FEWEST_REQUESTS * len(AROUND) / (MOST_SHARES * settings.load_s)
    while nearest := next_rate([rate.shows for rate in load.rates], guess):
        number, per_s = len(load.rates), max(nearest, slowest)
        fitting = max(FEWEST_REQUESTS, int(MOST_SHARES * settings.load_s * per_s / len(AROUND)))
        count = min(requests, fitting)
        progress.doing(arm.case, f"load, {per_s:.3g} requests/s, rate {number + 1} of {len(AROUND)}")
        try:
            rate = arm.serve(
                per_s,
                count,
                seed=number,
                cores=spare or list(to_compile_on(arm.target.cores)),
                own_core=bool(spare),
                batch=batch,
                batch_wait_s=load.batch_wait_s,
            )
        except (Unsupported, WorkerFailed) as error:
            return replace(load, problem=in_one_line(error), failed=isinstance(error, WorkerFailed))
        shows = shown_by(rate, load, count, seed=number, batch=batch)
        load = replace(load, rates=(*load.rates, replace(rate, shows=shows)))
    return load
