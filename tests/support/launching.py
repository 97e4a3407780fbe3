"""Launches that nobody measured, with the noise that measured ones have."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pytest_ngraph.comparison import Build, Launch, PairedRound, Placement, Quad
from pytest_ngraph.gate import Prior, Rule, decide
from pytest_ngraph.gate.decision import Decision

BASE_S = 0.002
PRIORS: dict[Placement, Prior] = {"together": Prior(0.004, 4), "apart": Prior(0.016, 4)}
"""Fixed here, so that figures in tests do not move with what is found of machines."""


def quad(log_ratio: float, base_delay: float = 0.0) -> Quad:
    """Head's time over base's; and by how much longer the base's took than without noise, as a logarithm."""
    base_s = BASE_S * math.exp(base_delay)
    head_s = BASE_S * math.exp(log_ratio)
    return Quad((base_s, base_s), (head_s, head_s))


def paired_round(*log_ratios: float, **fields: Any) -> PairedRound:
    return PairedRound(**{"elapsed_s": 0.1, **fields}, quads=tuple(map(quad, log_ratios)))


def launch(*rounds: PairedRound, fresh: bool = True) -> Launch:
    """A launch of one build."""
    return Launch(builds=(Build(rounds=rounds),), iterations=3, fresh=fresh)


def exact(log_ratio: float, error: float = 0.001, *, fresh: bool = True) -> Launch:
    """A launch whose effect is this to the last digit: base and head are delayed alike, if not at the same times."""
    delays = [0, error, 2 * error, 3 * error, 4 * error]
    quads = [quad(log_ratio + head, base) for head, base in zip(delays, reversed(delays), strict=True)]
    return launch(*(PairedRound(quads=(each,), elapsed_s=0.1) for each in quads), fresh=fresh)


@dataclass(kw_only=True)
class Machine:
    """Yields launches of a cell. spread: between launches (standard deviation of log ratios). noise: what delays a
    burst on average, as a log ratio. order: what is built second is slower by this log ratio. rounds: of each of two
    builds."""

    random: np.random.Generator
    spread: float = 0.003
    noise: float = 0.004
    order: float = 0.02
    rounds: int = 4
    quads: int = 2

    def launches(self, slowdown: float) -> Iterator[Launch]:
        """The screen, in a process that ran before, then fresh ones without end."""
        fresh = False
        while True:
            center = math.log1p(slowdown) + self.random.normal(0, self.spread)
            yield Launch(
                builds=tuple(map(self._build, (center + self.order, center - self.order))), iterations=3, fresh=fresh
            )
            fresh = True

    def gated(self, slowdown: float, rule: Rule) -> tuple[Decision, tuple[Launch, ...]]:
        """What the gate decides, and what it took, if launches are added as long as it wants."""
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
    """The launch, its head slower by this log ratio."""
    return _each_quad(one, lambda each: Quad(each.base, _times(each.head, math.exp(by))))


def swapped(one: Launch) -> Launch:
    """The launch with base for head."""
    return _each_quad(one, lambda each: Quad(each.head, each.base))


def scaled(one: Launch, factor: float) -> Launch:
    """The launch in another unit of time."""
    return _each_quad(one, lambda each: Quad(_times(each.base, factor), _times(each.head, factor)))


def _times(bursts: tuple[float, float], factor: float) -> tuple[float, float]:
    return bursts[0] * factor, bursts[1] * factor


def _each_quad(one: Launch, change: Callable[[Quad], Quad]) -> Launch:
    def changed(each: PairedRound) -> PairedRound:
        return replace(each, quads=tuple(map(change, each.quads)))

    return replace(one, builds=tuple(Build(rounds=tuple(map(changed, build.rounds))) for build in one.builds))
