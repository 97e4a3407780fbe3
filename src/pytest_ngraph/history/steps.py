"""Steps: nights from which on a case takes longer or shorter, in a series of logarithms with known errors.

The method is seeded binary segmentation (Kovács, Bühlmann, Li and Munk 2023, Biometrika 110:249): the series is looked
at in a fixed set of overlapping windows, and in each at every night that may divide it. The statistic is the difference
of the weighted means on both sides, over its standard error. Of the windows that are significant, the narrowest counts
first (Baranowski, Chen and Fryzlewicz 2019, JRSS-B 81:649), because it holds one step at most.

Which window and which night is looked at does not depend on the data. So the chance that a series without a step shows
one is at most the sum over all of them (Bonferroni), and Holm's procedure (1979) controls it over all series.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from pytest_ngraph.history.levels import (
    LEAST,
    Chain,
    Places,
    changes_between,
    estimates,
    noise_of,
    without_lone_nights,
)
from pytest_ngraph.metrics.student import t_quantile, t_tail
from pytest_ngraph.stats import Estimate, Floats

LEVEL = 0.01
"""Chance that any of all series shows a step that is none."""
COVERAGE = 0.95
"""Of the intervals of a step's size and place."""
LOOSE = 3.0
"""Windows with a smaller statistic are never significant."""


class Step(NamedTuple):
    """A step in a series.

    Attributes:
        place: the most probable first night after it.
        earliest: the first night of those that it may be, with 95 % confidence.
        latest: the last of them.
        change: the logarithm of the time after it over the time before, with its 95 % interval.
        p: the chance of such a step where there is none, corrected for all windows and nights of the series.
    """

    place: int
    earliest: int
    latest: int
    change: Estimate
    p: float


def find(chains: Sequence[Chain], level: float = LEVEL) -> list[list[Step]]:
    """Return the steps of each series, in order of time.

    Args:
        chains: the series.
        level: chance that any of all series shows a step that is none.
    """
    chains = [without_lone_nights(chain) for chain in chains]
    scans = [_scan(chain) for chain in chains]
    order = sorted(range(len(scans)), key=lambda number: scans[number].least_p)
    found: list[list[Step]] = [[] for _ in chains]
    for rank, number in enumerate(order):
        threshold = level / (len(scans) - rank)
        if scans[number].least_p > threshold:
            break
        found[number] = _steps(chains[number], scans[number], threshold)
    return found


class _Scan(NamedTuple):
    """The windows of a series that may be significant.

    Attributes:
        windows: first and last night, the night that divides it best, and its p-value.
        noise: factor by which the nights spread more than their errors say.
        dof: degrees of freedom of the noise.
    """

    windows: list[tuple[int, int, int, float]]
    noise: float
    dof: float

    @property
    def least_p(self) -> float:
        return min((p for *_, p in self.windows), default=1.0)


def _scan(chain: Chain) -> _Scan:
    count = len(chain.values)
    noise, dof = noise_of(chain)
    if count < 2 * LEAST or dof <= 0:
        return _Scan([], noise, dof)
    first, place, last, begins = _windows(count)
    statistic = np.abs(_statistics(chain, noise, first, place, last))
    best = np.maximum.reduceat(statistic, begins)
    found = []
    # Half of the level is for the series as a whole, which most steps of all are found in; half for all other windows.
    whole, others = 2 * (count - 1), 2 * (len(place) - (count - 1))
    for number in np.flatnonzero(best > LOOSE):
        begin = begins[number]
        end = begins[number + 1] if number + 1 < len(begins) else len(place)
        at = begin + int(np.argmax(statistic[begin:end]))
        p = 2 * (others if number else whole) * t_tail(float(best[number]), dof)
        found.append((int(first[at]), int(last[at]), int(place[at]), min(1.0, p)))
    return _Scan(found, noise, dof)


def _steps(chain: Chain, scan: _Scan, threshold: float) -> list[Step]:
    """Return the steps of a series that are significant by this threshold."""
    significant = sorted(
        (window for window in scan.windows if window[3] <= threshold),
        key=lambda window: (window[1] - window[0], window[3]),
    )
    taken: dict[int, float] = {}
    reaches: list[tuple[int, int]] = []
    for first, last, place, p in significant:
        if any(first < late and early < last for early, late in reaches):
            continue
        early, late = _reach(chain, scan.noise, first, last)
        reaches.append((early - 1, late + 1))
        taken[place] = p
    for _ in range(2):  # each step, given its neighbours
        refined: dict[int, float] = {}
        for place in sorted(taken):
            first, last = _around(chain, place, [*refined, *(each for each in taken if each != place)])
            places, statistic = _profile(chain, scan.noise, first, last)
            refined[int(places[np.argmax(np.abs(statistic))]) if len(places) else place] = taken[place]
        taken = refined
    return [_step(chain, scan, *_around(chain, place, taken), place, taken[place]) for place in sorted(taken)]


def _around(chain: Chain, place: int, others: Iterable[int]) -> tuple[int, int]:
    """Return the nights between which a step lies alone: others, the ends, and links over which nothing is known."""
    links = zip(chain.links, chain.link_errors, strict=True)
    unknown = [1 + np.flatnonzero(np.diff(link)) for link, error in links if math.isinf(error)]
    bounds = [0, *others, *np.concatenate([*unknown, []]).astype(int).tolist(), len(chain.values)]
    return max(each for each in bounds if each < place), min(each for each in bounds if each > place)


def _step(chain: Chain, scan: _Scan, first: int, last: int, place: int, p: float) -> Step:
    early, late = _reach(chain, scan.noise, first, last)
    change, error = estimates(chain, scan.noise, first, last, np.array([place]))
    reach = t_quantile((1 - COVERAGE) / 2, scan.dof) * float(error[0])
    value = float(change[0])
    return Step(place, min(early, place), max(late, place), Estimate(value, value - reach, value + reach), p)


def _reach(chain: Chain, noise: float, first: int, last: int) -> tuple[int, int]:
    """Return the first and the last night that may be the place of a step, with 95 % confidence.

    Each night is as probable as the series makes it, all being equally probable before (Cobb 1978, Biometrika 65:243).
    """
    places, statistic = _profile(chain, noise, first, last)
    squares = statistic**2
    probable = np.exp((squares - squares.max()) / 2)
    order = np.argsort(-probable, kind="stable")
    enough = int(np.searchsorted(np.cumsum(probable[order]), COVERAGE * probable.sum())) + 1
    chosen = places[order[:enough]]
    return int(chosen.min()), int(chosen.max())


def _profile(chain: Chain, noise: float, first: int, last: int) -> tuple[Places, Floats]:
    """Return the nights that may divide these, and the statistic of each."""
    places = np.arange(first + LEAST, last - LEAST + 1)
    changes, errors = estimates(chain, noise, first, last, places)
    return places, changes / errors


def _statistics(chain: Chain, noise: float, first: Places, place: Places, last: Places) -> Floats:
    changes, errors = changes_between(chain, noise, first, place, last)
    statistics: Floats = changes / errors
    return statistics


@lru_cache(maxsize=512)
def _windows(count: int) -> tuple[Places, Places, Places, Places]:
    """Return every window with every night that may divide it: first, dividing and last night, and where windows begin.

    The windows are the whole series, then layers of windows half as long as those before, each half over the next.
    """
    bounds = [(0, count)]
    length = count / 2
    while length >= 2 * LEAST:
        layer = 2 * math.ceil(count / length) - 1
        starts = np.linspace(0, count - length, layer)
        bounds += [(int(start), min(count, math.ceil(start + length))) for start in starts]
        length /= 2
    windows = list(dict.fromkeys(bounds))
    places = [np.arange(first + LEAST, last - LEAST + 1) for first, last in windows]
    sizes = [len(each) for each in places]
    first, last = (np.repeat([window[end] for window in windows], sizes) for end in (0, 1))
    begins = np.concatenate(([0], np.cumsum(sizes)[:-1])).astype(np.intp)
    return first, np.concatenate(places), last, begins
