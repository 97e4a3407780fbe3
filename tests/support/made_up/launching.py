"""Simulated launches, with the noise of measured ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pytest_ngraph.comparison import Build, Launch, PairedRound, Placement, Quad
from pytest_ngraph.gate import Rule
from pytest_ngraph.gate.decision import Decision, decide
from pytest_ngraph.gate.pooling import Prior

BASE_S = 0.002
PRIORS: dict[Placement, Prior] = {"together": Prior(0.004, 4), "apart": Prior(0.016, 4)}
"""Fixed here, so that figures in tests do not change with those measured on machines."""


def quad(log_ratio: float, base_delay: float = 0.0) -> Quad:
    """Return a quad.

    Args:
        log_ratio: head's time over base's, without noise.
        base_delay: log ratio by which noise slows the base down.
    """
    base_s = BASE_S * math.exp(base_delay)
    head_s = BASE_S * math.exp(log_ratio)
    return Quad((base_s, base_s), (head_s, head_s))


def paired_round(*log_ratios: float, **fields: Any) -> PairedRound:
    return PairedRound(**{"elapsed_s": 0.1, **fields}, quads=tuple(map(quad, log_ratios)))


def launch(*rounds: PairedRound, fresh: bool = True) -> Launch:
    """Return a launch of one build."""
    return Launch(builds=(Build(rounds=rounds),), iterations=3, fresh=fresh)


def exact(log_ratio: float, error: float = 0.001, *, fresh: bool = True) -> Launch:
    """Return a launch of exactly this effect: base and head are delayed equally, though not at the same times."""
    delays = [0, error, 2 * error, 3 * error, 4 * error]
    quads = [quad(log_ratio + head, base) for head, base in zip(delays, reversed(delays), strict=True)]
    return launch(*(PairedRound(quads=(each,), elapsed_s=0.1) for each in quads), fresh=fresh)


@dataclass(kw_only=True)
class Machine:
    """Makes launches of one case.

    Attributes:
        random: the source of noise.
        spread: standard deviation of log ratios between launches.
        noise: average delay of a burst, as a log ratio.
        order: log ratio by which the arm that is built second is slower.
        rounds: rounds of each of the two builds.
        quads: quads of each round.
    """

    random: np.random.Generator
    spread: float = 0.003
    noise: float = 0.004
    order: float = 0.02
    rounds: int = 4
    quads: int = 2

    def launches(self, slowdown: float) -> Iterator[Launch]:
        """Yield a first launch in a process that ran before, then fresh ones without end."""
        fresh = False
        while True:
            center = math.log1p(slowdown) + self.random.normal(0, self.spread)
            yield Launch(
                builds=tuple(map(self._build, (center + self.order, center - self.order))), iterations=3, fresh=fresh
            )
            fresh = True

    def gated(self, slowdown: float, rule: Rule) -> tuple[Decision, tuple[Launch, ...]]:
        """Return the gate's decision, and the launches it took when given as many as it asks for."""
        taken: tuple[Launch, ...] = ()
        for one in self.launches(slowdown):
            taken += (one,)
            decision = decide(taken, rule)
            if decision != "undecided" or sum(each.fresh for each in taken) == rule.most_launches:
                return decision, taken
        raise AssertionError("launches never end")

    def _build(self, center: float) -> Build:
        delays = self.random.exponential(self.noise, (self.rounds, self.quads, 2)).tolist()
        quads = ([quad(center + head, base) for head, base in each] for each in delays)
        return Build(rounds=tuple(PairedRound(quads=tuple(each), elapsed_s=0.1) for each in quads))


def shifted(one: Launch, by: float) -> Launch:
    """Return the launch with the head slower by this log ratio."""
    return _each_quad(one, lambda each: Quad(each.base, _times(each.head, math.exp(by))))


def swapped(one: Launch) -> Launch:
    """Return the launch with base and head swapped."""
    return _each_quad(one, lambda each: Quad(each.head, each.base))


def scaled(one: Launch, factor: float) -> Launch:
    """Return the launch in another unit of time."""
    return _each_quad(one, lambda each: Quad(_times(each.base, factor), _times(each.head, factor)))


def _times(bursts: tuple[float, float], factor: float) -> tuple[float, float]:
    return bursts[0] * factor, bursts[1] * factor


def _each_quad(one: Launch, change: Callable[[Quad], Quad]) -> Launch:
    def changed(each: PairedRound) -> PairedRound:
        return replace(each, quads=tuple(map(change, each.quads)))

    return replace(one, builds=tuple(Build(rounds=tuple(map(changed, build.rounds))) for build in one.builds))
