"""Divide the time of several cases of one network into the same few parts, to be shown side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_ngraph.explain.explanation import LEAST_COVERAGE
from pytest_ngraph.explain.kept import KeptProfile
from pytest_ngraph.explain.places import is_within
from pytest_ngraph.explain.rows import SMALL, Kind, Row, Series

MOST_PARTS = 16
"""Parts with a name; the lighter ones are one part together."""
UNNAMED: tuple[Kind, ...] = ("others", "layout", "unattributed", "outside")
"""What comes after the named parts, in this order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A part of the time of each case.

    Attributes:
        kind: as in `rows.Row`.
        name: as in `rows.Row`; of `others`, how many there are.
        seconds: seconds per call of each case; those outside of kernels are 0 where the profiler costs more.
    """

    kind: Kind
    name: str
    seconds: tuple[float, ...]


def names_modules(profile: KeptProfile) -> bool:
    """Return whether enough of the time was profiled to name modules."""
    return profile.coverage >= LEAST_COVERAGE


def by_modules(profiles: Sequence[KeptProfile], most: int = MOST_PARTS) -> list[Part]:
    """Return modules at the depth where something happens, in the order of the network, then what is not in any."""
    series = _series(profiles)
    paths = list(dict.fromkeys(path for kept in profiles for path in kept.modules))

    def position(row: Row) -> int:
        first = row.name.partition(", ")[0]  # of modules that are computed together
        return next((place for place, path in enumerate(paths) if is_within(path, first)), len(paths))

    rows = sorted(series.by_module(None), key=position)
    return _parts([*rows, series.outside()], profiles, most)


def by_operators(profiles: Sequence[KeptProfile], most: int = MOST_PARTS) -> list[Part]:
    """Return kinds of operators, the heaviest first, then the rest. Small ones are one part together."""
    series = _series(profiles)
    rows = sorted(series.by_operator(), key=lambda row: _weight(row, profiles), reverse=True)
    small = sum(row.kind == "operator" and _weight(row, profiles) < SMALL for row in rows)
    named = sum(row.kind == "operator" for row in rows)
    return _parts([*rows, series.outside()], profiles, min(most, named - small if small > 1 else named))


def _series(profiles: Sequence[KeptProfile]) -> Series:
    return Series([kept.profile("") for kept in profiles], side_by_side=True)


def _parts(rows: Sequence[Row], profiles: Sequence[KeptProfile], most: int) -> list[Part]:
    named = [row for row in rows if row.kind not in UNNAMED]
    order = sorted(range(len(named)), key=lambda index: _weight(named[index], profiles), reverse=True)
    kept = sorted(order[:most])
    together = [*(named[index] for index in order[most:]), *(row for row in rows if row.kind == "others")]
    count = len(order[most:]) + sum(int(row.name) for row in rows if row.kind == "others")
    parts = [Part(kind=named[index].kind, name=named[index].name, seconds=_seconds(named[index])) for index in kept]
    if together:
        sums = zip(*map(_seconds, together), strict=True)
        parts.append(Part(kind="others", name=str(count), seconds=tuple(map(sum, sums))))
    last = sorted((row for row in rows if row.kind in UNNAMED[1:]), key=lambda row: UNNAMED.index(row.kind))
    return parts + [Part(kind=row.kind, name="", seconds=_seconds(row)) for row in last]


def _seconds(row: Row) -> tuple[float, ...]:
    return tuple(max(0.0, each.value) for each in row.seconds)


def _weight(row: Row, profiles: Sequence[KeptProfile]) -> float:
    """Return the largest share that a row has of any case."""
    return max(seconds / kept.latency_s for seconds, kept in zip(_seconds(row), profiles, strict=True))
