"""Limits that what is deployed has to keep, and whether a record keeps them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

import numpy as np

from pytest_ngraph.metrics.between import Between, with_between
from pytest_ngraph.metrics.definitions import Unit
from pytest_ngraph.metrics.percentiles import PERCENTILES, fewest_calls, intervals
from pytest_ngraph.metrics.text import number, quantity
from pytest_ngraph.record import Record
from pytest_ngraph.stats import Estimate

State = Literal["kept", "unsure", "breached", "unknown"]
"""kept: surely. unsure: the value keeps the limit, and its interval does not. breached: the value does not keep it."""


class Held(NamedTuple):
    """A record held to a limit, and that in words: `p99 31 ms, above 20 ms`."""

    state: State
    text: str


class Holder(Protocol):
    """What holds records to limits."""

    def held(self, record: Record, between: Between) -> list[Held]:
        """Hold a measured record to each limit that there is for it."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What is allowed; None for anything.

    Attributes:
        p99_s: most seconds that 99 in 100 single calls may take.
        memory_bytes: most resident memory of a process that only serves.
        error: largest difference from eager PyTorch, over the largest reference value.
        throughput: fewest samples per second.
        score: lowest score by the user's own function.
        cold_start_s: most seconds from exec to the first answer of a process that only serves.
    """

    p99_s: float | None = None
    memory_bytes: float | None = None
    error: float | None = None
    throughput: float | None = None
    score: float | None = None
    cold_start_s: float | None = None

    @property
    def are_none(self) -> bool:
        """Whether anything is allowed."""
        return self == Limits()

    @property
    def ask_costs(self) -> bool:
        """Whether there is a limit on what serving costs."""
        return self.memory_bytes is not None or self.cold_start_s is not None

    def held(self, record: Record, between: Between) -> list[Held]:
        """Hold a measured record to each limit that there is. What cannot be deployed breaches, even without limits."""
        if record.undeployable:
            return [Held("breached", record.undeployable)]
        return list(self._held(record, between))

    def _held(self, record: Record, between: Between) -> Iterator[Held]:
        if self.error is not None and record.agreement is not None:
            error = record.agreement.error
            is_kept = error <= self.error
            yield Held("kept" if is_kept else "breached", f"error {error:.1e}, {_side(is_kept)} {self.error:.1e}")
        if self.score is not None and record.score is not None:
            is_kept = record.score >= self.score
            side = "not below" if is_kept else "below"
            yield Held("kept" if is_kept else "breached", f"score {number(record.score)}, {side} {number(self.score)}")
        if self.throughput is not None:
            rate = with_between(record.throughput_interval, between.of((1.0,)))
            yield _above("throughput", rate, self.throughput)
        if self.p99_s is not None:
            yield self._p99_held(self.p99_s, record, between)
        yield from self._cost_held("memory", "serving_memory_bytes", self.memory_bytes, "B", record)
        yield from self._cost_held("cold start", "cold_start_s", self.cold_start_s, "s", record)

    def _p99_held(self, limit: float, record: Record, between: Between) -> Held:
        found = p99(record)
        if found is not None:
            return _below("p99", with_between(found, between.of((1.0,))), limit, "s")
        if record.latency_s > limit:
            median = quantity(record.latency_s, "s")
            return Held("breached", f"median {median}, above the limit of {quantity(limit, 's')} on p99")
        few = f": only {len(record.calls)} of {fewest_calls(PERCENTILES['p99_s'])} calls fit into the budget"
        return Held("unknown", f"p99 not measured{few if record.calls else ''}")

    def _cost_held(self, what: str, metric: str, limit: float | None, unit: Unit, record: Record) -> Iterator[Held]:
        if limit is None:
            return
        found = record.serving.estimate(metric) if record.serving else None
        if found is not None:
            yield _below(what, found, limit, unit)
        else:
            why = f": {record.serving.why_absent(metric)}" if record.serving else ""
            yield Held("unknown", f"{what} not measured{why}")


def p99(record: Record) -> Estimate | None:
    """Return the seconds that 99 in 100 single calls of a record do not exceed; None where too few were timed."""
    share = PERCENTILES["p99_s"]
    if len(record.calls) < fewest_calls(share):
        return None
    return intervals(np.array([record.calls], dtype=np.float64), share)[0]


def _below(what: str, found: Estimate, limit: float, unit: Unit) -> Held:
    is_kept = found.value <= limit
    text = f"{what} {quantity(found.value, unit)}, {_side(is_kept)} {quantity(limit, unit)}"
    return Held(_state(is_kept, found.high <= limit), text)


def _above(what: str, found: Estimate, limit: float) -> Held:
    is_kept = found.value >= limit
    unit: Unit = "samples/s"
    text = f"{what} {quantity(found.value, unit)}, {'above' if is_kept else 'below'} {quantity(limit, unit)}"
    return Held(_state(is_kept, found.low >= limit), text)


def _state(is_kept: bool, is_sure: bool) -> State:
    return "breached" if not is_kept else "kept" if is_sure else "unsure"


def _side(is_below: bool) -> str:
    return "within" if is_below else "above"
