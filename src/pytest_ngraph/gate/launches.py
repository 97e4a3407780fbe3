"""What one launch says: how much slower its head was than its base, and how well that launch knows it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pytest_ngraph.comparison import Launch, PairedRound
from pytest_ngraph.stats import Floats

MOST_STEAL_PERCENT = 2.0
"""Time that the hypervisor takes strikes one burst and not the next; a quiet virtual machine shows none to 1 %."""
MOST_PRESSURE_PERCENT = 10.0
"""One thread that waits its turn for a tenth of the round delays some of the bursts by several times their length."""
MOST_SWITCHES_PER_S = 1000
"""Where the kernel does not tell of pressure. Threads that yield to each other at the end of every iteration switch
some 200 times a second on a quiet machine; one that shares its core is taken off it hundreds of times more."""

FEWEST_CLEAN_ROUNDS = 3
SMALLEST_CLEAN_SHARE = 1 / 3
"""Of a build's quads. Below either, leaving out the disturbed rounds costs more than they do."""

DRAWS = 400
"""Bootstrap draws: the standard error is then known to within 4 %, less than by so few rounds."""


class Effect(NamedTuple):
    """A launch's logarithm of head's time over base's, with its standard error within the launch."""

    log_ratio: float
    standard_error: float


def is_disturbed(measured: PairedRound) -> bool:
    """Whether the kernel tells of other work on the cores meanwhile. What it does not tell does not count."""
    most_switches = MOST_SWITCHES_PER_S * measured.elapsed_s
    crowded = measured.pressure_percent is None and (measured.involuntary_switches or 0) > most_switches
    return crowded or is_contended(measured.pressure_percent, measured.steal_percent)


def is_contended(pressure_percent: float | None, steal_percent: float | None) -> bool:
    """Whether others had the cores for longer than they do on a quiet machine. None does not count."""
    return (pressure_percent or 0) > MOST_PRESSURE_PERCENT or (steal_percent or 0) > MOST_STEAL_PERCENT


def rounds_to_use(rounds: Sequence[PairedRound]) -> Sequence[PairedRound]:
    """The undisturbed ones, if there are enough of them, else all. Both arms are in each, so that choosing among whole
    rounds favours neither."""
    clean = [each for each in rounds if not is_disturbed(each)]
    enough = _count_quads(clean) >= SMALLEST_CLEAN_SHARE * _count_quads(rounds)
    return clean if enough and len(clean) >= FEWEST_CLEAN_ROUNDS else rounds


def effects(launches: Iterable[Launch]) -> list[Effect]:
    """The effect of each launch, but of those with a build of one quad: nothing tells how wrong that is."""
    return [effect(launch) for launch in launches if _fewest_quads(launch) > 1]


def effect(launch: Launch) -> Effect:
    """The mean of the builds, however long each ran: what building first is worth cancels."""
    ratios, errors = np.array([_build_effect(build.rounds) for build in launch.builds]).T
    return Effect(float(np.mean(ratios)), float(np.linalg.norm(errors) / len(errors)))


def _build_effect(rounds: Sequence[PairedRound]) -> Effect:
    """The median of the quads' log ratios; its error from a bootstrap over whole rounds, because quads that follow each
    other see the same disturbances. A single round has only its quads to draw from."""
    blocks = [[quad.log_ratio for quad in each.quads] for each in rounds_to_use(rounds) if each.quads]
    if len(blocks) == 1:
        blocks = [[ratio] for ratio in blocks[0]]
    ratios = np.concatenate(blocks)
    block_of = np.repeat(np.arange(len(blocks)), [len(block) for block in blocks])
    order = np.argsort(ratios, kind="stable")
    weights = _resamples(len(blocks))[:, block_of[order]]
    medians = _weighted_medians(ratios[order], weights)
    # Draws from a sample scatter as if its own mean were the truth: too little by n - 1 in n.
    correction = len(blocks) / (len(blocks) - 1)
    return Effect(float(np.median(ratios)), float(np.sqrt(np.var(medians) * correction)))


@lru_cache(maxsize=64)
def _resamples(blocks: int) -> npt.NDArray[np.int64]:
    """How often each draw holds each block: shape (DRAWS, blocks). The same for all launches of as many blocks."""
    random = np.random.default_rng(blocks)
    return random.multinomial(blocks, np.full(blocks, 1 / blocks), size=DRAWS)


def _weighted_medians(ordered: Floats, weights: npt.NDArray[np.int64]) -> Floats:
    """Medians of `ordered`, shape (n,), each value taken as often as a row of `weights`, shape (draws, n), says."""
    reached = 2 * np.cumsum(weights, axis=1)
    total = reached[:, -1:] // 2
    lower, upper = np.argmax(reached >= total, axis=1), np.argmax(reached > total, axis=1)
    medians: Floats = (ordered[lower] + ordered[upper]) / 2
    return medians


def _fewest_quads(launch: Launch) -> int:
    return min((_count_quads(build.rounds) for build in launch.builds), default=0)


def _count_quads(rounds: Sequence[PairedRound]) -> int:
    return sum(len(each.quads) for each in rounds)
