"""The effect seen in one launch: how much slower its head was than its base, and how uncertain that is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pytest_ngraph.comparison import Launch, PairedRound
from pytest_ngraph.stats import Floats

FASTEST_SHARE = 0.25
"""Share of an arm's bursts that counts: the fastest. Other work can only delay a burst, so the fastest ones show what a
model takes (Chen and Revels 2016, arXiv:1608.04295); `tools/launch_spread.py` measures the gain. Leaving out disturbed
rounds as well gains nothing."""

DRAWS = 400
"""Bootstrap draws. They give the standard error to within 4 %, less than its uncertainty from so few rounds."""


class Effect(NamedTuple):
    """A launch's logarithm of head's time over base's, with its standard error within the launch."""

    log_ratio: float
    standard_error: float


def effects(launches: Iterable[Launch]) -> list[Effect]:
    """Return the effect of each launch, except launches with a build of one quad, whose error is unknown."""
    return [effect(launch) for launch in launches if _fewest_quads(launch) > 1]


@lru_cache(maxsize=256)
def effect(launch: Launch) -> Effect:
    """Return the mean of a launch's builds, however long each ran, so that the advantage of building first cancels.

    It is kept, because a case is decided after each of its launches, by all of them.
    """
    ratios, errors = np.array([_build_effect(build.rounds) for build in launch.builds]).T
    return Effect(float(np.mean(ratios)), float(np.linalg.norm(errors) / len(errors)))


def _build_effect(rounds: Sequence[PairedRound]) -> Effect:
    """Return how much longer head's fastest bursts took than base's fastest ones, with its standard error.

    The error comes from a bootstrap over whole rounds, because successive bursts see the same disturbances; if there is
    only one round, over its quads.
    """
    blocks = [each.quads for each in rounds if each.quads]
    if len(blocks) == 1:
        blocks = [(quad,) for quad in blocks[0]]
    ratio, *drawn = _drawn([[quad.head for quad in block] for block in blocks]) - _drawn(
        [[quad.base for quad in block] for block in blocks]
    )
    # Draws scatter around the sample's mean, not the true one: their variance is too small by a factor (n - 1) / n.
    correction = len(blocks) / (len(blocks) - 1)
    return Effect(float(ratio), float(np.sqrt(np.var(drawn) * correction)))


def _drawn(blocks: Sequence[Sequence[tuple[float, float]]]) -> Floats:
    """Return an arm's mean logarithm of the seconds of its fastest bursts: of all blocks, then of each draw."""
    logs = np.log(np.concatenate([np.ravel(block) for block in blocks]))
    block_of = np.repeat(np.arange(len(blocks)), [2 * len(block) for block in blocks])
    order = np.argsort(logs, kind="stable")
    return _means_of_fastest(logs[order], _resamples(len(blocks))[:, block_of[order]])


@lru_cache(maxsize=64)
def _resamples(blocks: int) -> npt.NDArray[np.int64]:
    """Return how often each draw holds each block, as an array of shape (1 + DRAWS, blocks).

    The first row holds each block once. All launches with the same number of blocks share the draws.
    """
    random = np.random.default_rng(blocks)
    draws = random.multinomial(blocks, np.full(blocks, 1 / blocks), size=DRAWS)
    return np.concatenate([np.ones((1, blocks), dtype=np.int64), draws])


def _means_of_fastest(ordered: Floats, weights: npt.NDArray[np.int64]) -> Floats:
    """Return the mean of the first `FASTEST_SHARE` of `ordered` for each row of weights.

    Args:
        ordered: ascending values, shape (n,).
        weights: how often each value counts, shape (draws, n).
    """
    reached = np.cumsum(weights, axis=1)
    wanted = FASTEST_SHARE * reached[:, -1:]
    counted = np.clip(wanted - (reached - weights), 0, weights)
    means: Floats = counted @ ordered / wanted[:, 0]
    return means


def _fewest_quads(launch: Launch) -> int:
    return min((_count_quads(build.rounds) for build in launch.builds), default=0)


def _count_quads(rounds: Sequence[PairedRound]) -> int:
    return sum(len(each.quads) for each in rounds)
