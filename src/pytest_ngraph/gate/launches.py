"""What one launch says: how much slower its head was than its base, and how well that launch knows it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pytest_ngraph.comparison import Launch, PairedRound
from pytest_ngraph.stats import Floats

FASTEST_SHARE = 0.25
"""Of an arm's bursts: these count. Other work only ever delays a burst, so that the fastest tell what a model takes
(Chen and Revels 2016, arXiv:1608.04295): `tools/launch_spread.py` shows what that gains. To leave out disturbed rounds
as well gains nothing."""

DRAWS = 400
"""Bootstrap draws: the standard error is then known to within 4 %, less than by so few rounds."""


class Effect(NamedTuple):
    """A launch's logarithm of head's time over base's, with its standard error within the launch."""

    log_ratio: float
    standard_error: float


def effects(launches: Iterable[Launch]) -> list[Effect]:
    """The effect of each launch, but of those with a build of one quad: nothing tells how wrong that is."""
    return [effect(launch) for launch in launches if _fewest_quads(launch) > 1]


def effect(launch: Launch) -> Effect:
    """The mean of the builds, however long each ran: what building first is worth cancels."""
    ratios, errors = np.array([_build_effect(build.rounds) for build in launch.builds]).T
    return Effect(float(np.mean(ratios)), float(np.linalg.norm(errors) / len(errors)))


def _build_effect(rounds: Sequence[PairedRound]) -> Effect:
    """How much longer the fastest of head's bursts took than the fastest of base's; its error from a bootstrap over
    whole rounds, because bursts that follow each other see the same disturbances. A single round has only its quads to
    draw from."""
    blocks = [each.quads for each in rounds if each.quads]
    if len(blocks) == 1:
        blocks = [(quad,) for quad in blocks[0]]
    ratio, *drawn = _drawn([[quad.head for quad in block] for block in blocks]) - _drawn(
        [[quad.base for quad in block] for block in blocks]
    )
    # Draws from a sample scatter as if its own mean were the truth: too little by n - 1 in n.
    correction = len(blocks) / (len(blocks) - 1)
    return Effect(float(ratio), float(np.sqrt(np.var(drawn) * correction)))


def _drawn(blocks: Sequence[Sequence[tuple[float, float]]]) -> Floats:
    """An arm's mean logarithm of the seconds of its fastest bursts: of all blocks, then of each draw from them."""
    logs = np.log(np.concatenate([np.ravel(block) for block in blocks]))
    block_of = np.repeat(np.arange(len(blocks)), [2 * len(block) for block in blocks])
    order = np.argsort(logs, kind="stable")
    return _means_of_fastest(logs[order], _resamples(len(blocks))[:, block_of[order]])


@lru_cache(maxsize=64)
def _resamples(blocks: int) -> npt.NDArray[np.int64]:
    """How often each draw holds each block: shape (1 + DRAWS, blocks), the first row holding each once. The same for
    all launches of as many blocks."""
    random = np.random.default_rng(blocks)
    draws = random.multinomial(blocks, np.full(blocks, 1 / blocks), size=DRAWS)
    return np.concatenate([np.ones((1, blocks), dtype=np.int64), draws])


def _means_of_fastest(ordered: Floats, weights: npt.NDArray[np.int64]) -> Floats:
    """Means of the first share of `ordered`, shape (n,), each value taken as often as a row of `weights`, shape
    (draws, n), says."""
    reached = np.cumsum(weights, axis=1)
    wanted = FASTEST_SHARE * reached[:, -1:]
    counted = np.clip(wanted - (reached - weights), 0, weights)
    means: Floats = counted @ ordered / wanted[:, 0]
    return means


def _fewest_quads(launch: Launch) -> int:
    return min((_count_quads(build.rounds) for build in launch.builds), default=0)


def _count_quads(rounds: Sequence[PairedRound]) -> int:
    return sum(len(each.quads) for each in rounds)
