"""A model under load: when requests arrive, how they wait and are answered, and what that showed at each rate.

The load is open: the times of arrival are drawn before it begins, so that a slow answer does not slow the asking, and a
request's time counts from when it was due (no coordinated omission). The same loop runs in real time and in simulated
time, because time and arrivals are passed in.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import accumulate
from typing import Any, Protocol

from pytest_ngraph.clock import Clock

STARTING = 0.1
"""Share of the requests of a rate that are not counted: the first find an empty queue."""
OWN_CORE = "has a core of its own"
SHARES_CORES = "shares the model's cores: leave one free, as with threads = 1 in the device's profile"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """What one rate of requests showed.

    Attributes:
        per_s: requests a second.
        seconds: from when each request was due to when it was answered, in the order in which they arrived, without the
            first ones (`STARTING`).
        calls: calls of the model that answered all of them; fewer than requests where a call answers several.
        late_s: how late the 99th percentile of the requests was sent.
        shows: the highest rate that keeps the limit, as this one shows it (`metrics.load`); 0 where none does, or
            nobody asked.
    """

    per_s: float
    seconds: tuple[float, ...]
    calls: int
    late_s: float = 0.0
    shows: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """A case under load.

    Attributes:
        limit_s: the time within which 99 of 100 requests must be answered.
        call_s: seconds of a call by itself, as in the rounds.
        batch_wait_s: how long a request waits for others that are answered in the same call.
        rates: in the order in which they were measured.
        generator: whether what sends the requests has a core of its own.
        problem: why there are no rates, or no more of them; empty where there is nothing to say.
        failed: whether that is because the model raised, crashed, hung or exhausted the memory.
        steepness: by how many percent the highest rate changes where a call's time changes by 1 % (`metrics.load`).
    """

    limit_s: float
    call_s: float
    batch_wait_s: float = 0.0
    rates: tuple[Rate, ...] = ()
    generator: str = ""
    problem: str = ""
    failed: bool = False
    steepness: float = 1.0

    def to_dict(self) -> dict[str, Any]:
        """Return the load as JSON-ready data."""
        return asdict(self)

    @property
    def is_hopeless(self) -> bool:
        """Whether a request takes longer than the limit even where no other is there."""
        return self.is_too_long(self.call_s)

    def is_too_long(self, call_s: float) -> bool:
        """Return whether a call of so many seconds, with the wait before it, takes longer than the limit."""
        return call_s + self.batch_wait_s > self.limit_s

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Load:
        """Return the load that `to_dict` wrote."""
        rates = tuple(Rate(**rate | {"seconds": tuple(rate["seconds"])}) for rate in data["rates"])
        return cls(**data | {"rates": rates})


class Arrivals(Protocol):
    """Requests that arrive at their times, whatever the model does."""

    def take(self, until: float | None) -> int:
        """Return how many requests have arrived since the last call; wait for the first, at most until that time.

        Args:
            until: a time of the clock, which may be over; None to wait as long as it takes.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """Requests that were answered.

    Attributes:
        begun: when the call that answers it began, by request.
        ended: when that call ended, by request.
        calls: number of calls.
    """

    begun: list[float]
    ended: list[float]
    calls: int


def schedule(per_s: float, requests: int, seed: int) -> list[float]:
    """Return when requests arrive, in seconds from the beginning: a Poisson process, whose gaps are exponential."""
    draw = random.Random(seed)
    return list(accumulate(draw.expovariate(per_s) for _ in range(requests)))


def serve(
    due: Sequence[float],
    arrivals: Arrivals,
    answer: Callable[[], object],
    clock: Clock,
    *,
    batch: int = 1,
    batch_wait_s: float = 0.0,
) -> Served:
    """Answer requests in the order in which they arrive, several in one call where that is allowed.

    Args:
        due: when each request arrives, by the clock.
        arrivals: the requests.
        answer: one call of the model, which takes up to `batch` requests, and as long for fewer.
        clock: gives the time.
        batch: most requests of a call. Where fewer wait, the call begins when the first has waited `batch_wait_s`.
        batch_wait_s: seconds.
    """
    begun: list[float] = []
    ended: list[float] = []
    arrived = calls = 0
    while len(ended) < len(due):
        first = len(ended)
        if arrived == first:
            arrived += arrivals.take(None)
        while arrived - first < batch and arrived < len(due) and clock() < due[first] + batch_wait_s:
            arrived += arrivals.take(due[first] + batch_wait_s)
        if arrived - first < batch:  # those that have arrived since
            arrived += arrivals.take(clock())
        count = min(batch, arrived - first)
        begun += [clock()] * count
        answer()
        ended += [clock()] * count
        calls += 1
    return Served(begun=begun, ended=ended, calls=calls)


class Simulated:
    """Simulated time, with requests that arrive in it, and a model that takes up time.

    Args:
        due: when each request arrives.
        call_s: returns the seconds of the next call.
    """

    def __init__(self, due: Sequence[float], call_s: Callable[[], float]) -> None:
        self._now = 0.0
        self._due = due
        self._call_s = call_s
        self._taken = 0

    def clock(self) -> float:
        return self._now

    def answer(self) -> None:
        self._now += self._call_s()

    def take(self, until: float | None) -> int:
        before, due = self._taken, self._due
        if before == len(due):
            self._now = max(self._now, self._now if until is None else until)
            return 0
        first = due[before]
        self._now = max(self._now, first if until is None else min(first, until))
        while self._taken < len(due) and due[self._taken] <= self._now:
            self._taken += 1
        return self._taken - before


def one_by_one(due: Sequence[float], call_s: Callable[[], float]) -> Served:
    """Return what `serve` would in simulated time with one request per call, in a quarter of the time.

    Args:
        due: as in `Simulated`, as is `call_s`.
    """
    now = 0.0
    begun: list[float] = []
    ended: list[float] = []
    for asked in due:
        now = max(now, asked)
        begun.append(now)
        now += call_s()
        ended.append(now)
    return Served(begun=begun, ended=ended, calls=len(ended))


def simulate(
    per_s: float,
    requests: int,
    call_s: Callable[[], float],
    *,
    seed: int = 0,
    batch: int = 1,
    batch_wait_s: float = 0.0,
) -> Rate:
    """Return what a rate would show of a model whose calls take these seconds."""
    due = schedule(per_s, requests, seed)
    if batch == 1:
        return rate_of(per_s, due, one_by_one(due, call_s))
    time = Simulated(due, call_s)
    served = serve(due, time, time.answer, time.clock, batch=batch, batch_wait_s=batch_wait_s)
    return rate_of(per_s, due, served)


def rate_of(per_s: float, due: Sequence[float], served: Served, late_s: float = 0.0) -> Rate:
    """Return what a rate showed, without the first requests."""
    seconds = [ended - asked for asked, ended in zip(due, served.ended, strict=True)]
    return Rate(per_s=per_s, seconds=tuple(seconds[round(STARTING * len(due)) :]), calls=served.calls, late_s=late_s)
