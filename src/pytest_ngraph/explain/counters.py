"""What the processor did in a call of each case, and by how much two differ. Noise hardly changes instruction
counts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pytest_ngraph.explain.profile import Profile
from pytest_ngraph.stats import Estimate, Floats, median_interval

COUNTED = ("instructions", "cycles", "cache_references", "cache_misses")
CLOCK = "clock_hz"
"""Cycles over the seconds on a core: how fast the cores really ran."""
SAME = 0.005
"""Counts that surely differ by less than this are called the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counter:
    """An event.

    Attributes:
        values: how many in a call of each case; of `CLOCK`, cycles per second.
        ratio: the second case's over the first's, in the same block; None for one case.
    """

    name: str
    values: tuple[Estimate, ...]
    ratio: Estimate | None


def counted(profiles: Sequence[Profile]) -> tuple[Counter, ...]:
    """Return the events that were counted in every block of all profiles."""
    found = []
    for name in (*COUNTED, CLOCK):
        series = [_series(profile, name) for profile in profiles]
        known = [each for each in series if each is not None]
        if len(known) == len(series):
            ratio = median_interval(known[1] / known[0]) if len(known) == 2 else None
            found.append(Counter(name=name, values=tuple(map(median_interval, known)), ratio=ratio))
    return tuple(found)


def in_words(counters: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield how two cases differ: `same instructions`, `8.0 % more cache misses`; nothing for what is not sure.

    Args:
        counters: as `Explanation.to_dict` writes them.
    """
    for each in counters:
        ratio = each["ratio"]
        if not ratio or None in ratio or each["name"] == "cache_references":
            continue
        value, low, high = ratio
        name = "clock" if each["name"] == CLOCK else each["name"].replace("_", " ")
        if low > 1 - SAME and high < 1 + SAME:
            yield f"same {name}"
        elif low > 1 or high < 1:
            more, less = ("faster", "slower") if each["name"] == CLOCK else ("more", "fewer")
            words = f"{100 * abs(value - 1):.1f} % {more if value > 1 else less}"
            yield f"{name} {words}" if each["name"] == CLOCK else f"{words} {name}"


def _series(profile: Profile, name: str) -> Floats | None:
    """Return an event's counts in the blocks of a profile; None where a block lacks it, or has none."""
    found = np.array([_count(block.counters, name) for block in profile.blocks])
    return found if bool(np.all(found > 0)) else None


def _count(counters: Mapping[str, float], name: str) -> float:
    if name != CLOCK:
        return counters.get(name, 0.0)
    on_core_ns = counters.get("task_clock_ns", 0.0)
    return 1e9 * counters.get("cycles", 0.0) / on_core_ns if on_core_ns else 0.0
