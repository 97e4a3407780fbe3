"""How surely a metric lies beyond a limit: both parts of its uncertainty, in the scale in which they are known."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from pytest_ngraph.case import IDENTITY, Case
from pytest_ngraph.gate.changes import ALONE
from pytest_ngraph.metrics import DEFINITIONS, Metric, Metrics, Scope
from pytest_ngraph.metrics.between import NO_SPREAD, NORMAL, Spread, Uncertainty, total
from pytest_ngraph.metrics.definitions import Unit
from pytest_ngraph.metrics.load import MAX_RATE
from pytest_ngraph.metrics.metric import scope_of
from pytest_ngraph.metrics.percentiles import PERCENTILES
from pytest_ngraph.metrics.sensitivity import sensitivities
from pytest_ngraph.metrics.text import in_words, quantity
from pytest_ngraph.stats import Estimate

Transform = Callable[[float], float]


class Judged(NamedTuple):
    """A metric in the scale in which its uncertainty is known.

    Attributes:
        at: the metric there, with its interval within the processes that were measured.
        between: what other processes would have shown.
        to_scale: takes a value of the metric there.
        from_scale: takes it back.
        is_share: whether a distance is the logarithm of a share.
    """

    at: Estimate
    between: Spread
    to_scale: Transform
    from_scale: Transform
    is_share: bool

    def towards(self, bound: float) -> Uncertainty:
        """Return the uncertainty on the side on which a value of the scale lies."""
        value, nearest = self.at.value, self.at.high if bound > self.at.value else self.at.low
        within = abs(nearest - value) / NORMAL if nearest != value else 0.0  # an infinite number may be exact
        return Uncertainty(within, self.between)

    @property
    def interval(self) -> Estimate:
        """The metric with the interval that both parts give."""
        value = self.from_scale(self.at.value)
        sides = ((-1, self.towards(-math.inf)), (1, self.towards(math.inf)))
        ends = [
            self.from_scale(self.at.value + sign * side.reach()) for sign, side in sides if math.isfinite(side.within)
        ]
        low, high = (min(ends), max(ends)) if len(ends) == len(sides) else (-math.inf, math.inf)
        if len(ends) == 1:  # the slowest call is not the upper end of a percentile if too many may be slower
            low, high = (ends[0], math.inf) if ends[0] <= value else (-math.inf, ends[0])
        return Estimate(value, low, high)

    def parts(self, unit: Unit) -> str:
        """Return the two parts in words, each as half a 95 % interval; empty for an exact number."""
        within = (self.at.high - self.at.low) / 2
        between = Uncertainty(0.0, self.between).reach()
        shown = [f"± {self._shown(within, unit)} within its processes"] if 0 < within < math.inf else []
        shown += [f"± {self._shown(between, unit)} between processes"] if between else []
        return ", ".join(shown)

    def _shown(self, distance: float, unit: Unit) -> str:
        return f"{100 * math.expm1(distance):.1f} %" if self.is_share else quantity(distance, unit)


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of a metric and a limit.

    Attributes:
        p: one-sided p-value of "the true value is on the other side of the limit than the metric".
        interval: the metric with the interval that both parts of its uncertainty give.
        parts: the parts in words.
    """

    p: float
    interval: Estimate
    parts: str

    def in_words(self, metric: Metric) -> str:
        """Return `0.41 [0.37, 0.46] (± 8.5 % within its processes, ± 6.3 % between processes)`."""
        return " ".join(
            filter(
                None,
                [
                    in_words(dataclasses.replace(metric, estimate=self.interval)),
                    f"({self.parts})" if self.parts else "",
                ],
            )
        )


class Limits:
    """Judges the metrics of a run against limits, knowing how much processes of the same code differ."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._between = metrics.between
        self._weights = {(each.name, each.scope): each.weights for each in sensitivities(metrics.by_case)}

    def evidence(self, metric: Metric, bound: float) -> Evidence:
        """Return how surely a metric with an estimate is on that side of a bound on which its value is."""
        judged = self._judged(metric)
        limit = judged.to_scale(bound)
        p = judged.towards(limit).p(abs(limit - judged.at.value))
        unit = DEFINITIONS[metric.name].unit if metric.name in DEFINITIONS else "ratio"
        return Evidence(p, judged.interval, judged.parts(unit))

    def _judged(self, metric: Metric) -> Judged:
        estimate, name = metric.estimate, metric.name
        assert estimate is not None
        match name:
            case "break_even":
                return self._break_even(metric.scope) or plain(estimate, NO_SPREAD)
            case "cpu_reduction":
                return self._cpu_reduction(estimate)
            case "depth_slope":
                return self._slope(metric.scope, estimate)
        weights = self._weights.get((name, metric.scope))
        if name in (*PERCENTILES, MAX_RATE) and estimate.value > 0:
            return in_shares(estimate, self._between.of((metric.steepness,)))
        if weights is not None:
            spread = self._spread(weights)
            return in_shares(estimate, spread) if DEFINITIONS[name].change == "share" else plain(estimate, spread)
        if name in ONCE and estimate.value > 0:
            return in_shares(estimate, ONCE[name])
        # A count, a cost of launched processes, or a metric of the user's own: its interval is all that is known.
        return plain(estimate, NO_SPREAD)

    def _break_even(self, scope: Case | Scope) -> Judged | None:
        """Judge by the speedup at which compiling is paid back after as many samples: 1 + compile_s T / samples."""
        own = self._estimates(scope)
        if own.keys() < {"speedup", "compile_s", "throughput"}:
            return None
        assert isinstance(scope, Case)
        pair = self._spread({scope: -1.0, dataclasses.replace(scope, compiler=IDENTITY): 1.0})
        paid = own["compile_s"].value * own["throughput"].value
        speedup = in_shares(own["speedup"], pair)
        gain = max(0.0, 1 - 1 / own["speedup"].value)
        compiling = Spread(gain * ONCE["compile_s"].deviation, ONCE["compile_s"].dof)

        def samples(log_speedup: float) -> float:
            return paid / math.expm1(log_speedup) if log_speedup > 0 else math.inf

        return Judged(
            speedup.at,
            total([pair, compiling]),
            lambda after: math.log1p(paid / after) if after > 0 else math.inf,
            samples,
            is_share=True,
        )

    def _cpu_reduction(self, estimate: Estimate) -> Judged:
        deviation, dof = ONCE["cpu_percent"]
        return plain(estimate, Spread(abs(1 - estimate.value) * math.sqrt(2) * deviation, dof))

    def _slope(self, scope: Case | Scope, estimate: Estimate) -> Judged:
        """Judge a slope by the speedups from which it follows: each varies by its own share of itself."""
        speedups = {
            case: own["speedup"].estimate
            for case, own in self._metrics.by_case.items()
            if case.depth is not None and case.compiler != IDENTITY and scope_of(case, spanned="depth") == scope
        }
        known = {case: each.value for case, each in speedups.items() if each}
        depths = {case: float(case.depth or 0) for case in known}
        middle = math.fsum(depths.values()) / max(1, len(known))
        squares = math.fsum((depth - middle) ** 2 for depth in depths.values())
        weights: dict[Case, float] = {}
        for case, value in known.items() if squares else ():
            weights[case] = (depths[case] - middle) / squares * value
            weights[dataclasses.replace(case, compiler=IDENTITY)] = -weights[case]
        return plain(estimate, self._spread(weights))

    def _spread(self, weights: Mapping[Case, float]) -> Spread:
        """Return what other processes would show of a weighted sum of the logarithms of these cases' times."""
        return self._between.of(weights.values(), self._metrics.sessions_of(weights))

    def _estimates(self, scope: Case | Scope) -> Mapping[str, Estimate]:
        if not isinstance(scope, Case) or scope not in self._metrics.by_case:
            return {}
        return {name: each.estimate for name, each in self._metrics[scope].items() if each.estimate}


ONCE: Mapping[str, Spread] = {name: Spread(*prior) for name, prior in ALONE.items()} | {
    "device_memory_bytes": Spread(*ALONE["worker_memory_bytes"])
}
"""The metrics that are read once in each process, with their spread from process to process."""


def plain(estimate: Estimate, spread: Spread) -> Judged:
    """Return a metric whose error does not grow with its value."""
    return Judged(estimate, spread, float, float, is_share=False)


def in_shares(estimate: Estimate, spread: Spread) -> Judged:
    """Return a positive metric whose error is a share of its value."""
    return Judged(Estimate(*map(_log, estimate)), spread, _log, math.exp, is_share=True)


def _log(value: float) -> float:
    return math.log(value) if value > 0 else -math.inf
