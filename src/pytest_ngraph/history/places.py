"""Where imported results of one name were measured: a series for each machine and environment that took turns."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from pytest_ngraph.history.row import Row
from pytest_ngraph.machine.machine import FINGERPRINT

ENVIRONMENT = "environment"
"""The fact that names an environment, where the other tool names it."""
FEW = 4
"""Up to this many machines are taken to be machines. Of more, with hardly more results than machines, each is a
container that gets another name every time."""
SAME_S = 10.0
"""Results of one commit and place are of one run up to this many seconds apart: a run writes several files in turn."""


class Place(NamedTuple):
    """A machine and an environment, by their names."""

    machine: str
    environment: str

    @classmethod
    def of(cls, facts: Mapping[str, str]) -> Place:
        """Return the place that has these facts. An environment without a name is known by its version of Python."""
        version = ".".join(facts.get("python", "").split(".")[:2])
        return cls(facts.get(FINGERPRINT, ""), facts.get(ENVIRONMENT) or f"Python {version}")


class Placed(NamedTuple):
    """Results that belong into one series.

    Attributes:
        name: of what was measured, with the place where results of others took turns with them.
        machine: where they were measured; empty where that is not one machine.
    """

    name: str
    machine: str
    rows: list[Row]


def separated(name: str, rows: Sequence[Row], place_of: Callable[[Row], Place]) -> list[Placed]:
    """Return the results of one name, apart for each place where several places took turns.

    A result that several files have counts once. A place that follows on another, as after an upgrade or an exchange of
    the machine, goes on with its series.

    Args:
        rows: in order of time.
    """
    rows = _without_repeats(rows, place_of)
    places = [place_of(row) for row in rows]
    if len(machines := {place.machine for place in places}) > FEW and len(rows) < 2 * len(machines):
        places = [place._replace(machine="") for place in places]
    by_place: dict[Place, list[Row]] = defaultdict(list)
    for place, row in zip(places, rows, strict=True):
        by_place[place].append(row)
    if not any(_take_turns(one, other) for one, other in combinations(by_place.values(), 2)):
        machine, *others = {place.machine for place in by_place}
        return [Placed(name, "" if others else machine, list(rows))]
    differing = [len({place[part] for place in by_place}) > 1 for part in range(len(Place._fields))]
    found = []
    for place, own in by_place.items():
        where = ", ".join(text for text, differs in zip(place, differing, strict=True) if differs)
        found.append(Placed(f"{name} ({where})", place.machine, own))
    return found


def _without_repeats(rows: Sequence[Row], place_of: Callable[[Row], Place]) -> list[Row]:
    """Return the rows, in order of time, without those that repeat the place, the commit and the time of another."""
    kept: list[Row] = []
    last: dict[tuple[Place, str], float] = {}
    for row in rows:
        event = place_of(row), row.commit
        if row.started_at - last.get(event, -math.inf) > SAME_S:
            last[event] = row.started_at
            kept.append(row)
    return kept


def _take_turns(one: Sequence[Row], other: Sequence[Row]) -> bool:
    """Return whether neither of the two ended before the other began."""
    return one[0].started_at <= other[-1].started_at and other[0].started_at <= one[-1].started_at
