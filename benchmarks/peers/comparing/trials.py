"""Several tools measure the same networks, in turn, so that a machine that drifts does so for all."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from comparing.child import Failed
from pytest_ngraph.case import Case
from pytest_ngraph.stats import Floats


class Reading(NamedTuple):
    """What one session of a tool says of a network.

    seconds: median seconds per iteration. measured_s: seconds from the first iteration to the last one, those that warm
    up or calibrate included. wall_s: seconds of the whole session, which starts a process and builds the network.
    """

    seconds: float
    measured_s: float
    wall_s: float


Measure = Callable[[Case], Reading]
"""A session of a tool. Raises `Failed`."""


class Trials(NamedTuple):
    """Readings of each arm by its name, session after session of each case; and why arms have none."""

    readings: Mapping[str, Sequence[Sequence[Reading]]]
    absent: Mapping[str, str]

    def of(self, arm: str, field: str) -> Floats:
        """One field of an arm's readings, shape (cases, sessions)."""
        return np.array([[getattr(reading, field) for reading in own] for own in self.readings[arm]], dtype=np.float64)

    @property
    def notes(self) -> list[str]:
        """A sentence on each arm that is absent."""
        return [f"{arm} is left out: {reason}." for arm, reason in self.absent.items()]


def run(arms: Mapping[str, Measure], cases: Sequence[Case], sessions: int) -> Trials:
    """So many sessions of every arm for every case, in an order that is drawn anew each time.

    An arm that fails once is left out: of fewer sessions than the others its figures would be another thing.
    """
    readings: dict[str, list[list[Reading]]] = {name: [[] for _ in cases] for name in arms}
    absent: dict[str, str] = {}
    order = random.Random(0)
    for session in range(sessions):
        for place, case in enumerate(cases):
            for name in order.sample(sorted(readings), len(readings)):
                print(f"session {session + 1} of {sessions}: {case.group_label}, {name}", file=sys.stderr)
                try:
                    readings[name][place].append(arms[name](case))
                except Failed as error:
                    absent[name] = str(error).rstrip(".")
                    del readings[name]
    return Trials({name: readings[name] for name in arms if name in readings}, absent)


def chosen(arms: Mapping[str, Measure], part: str | None) -> dict[str, Measure]:
    """The arms with this in their name; all of them without it."""
    return {name: measure for name, measure in arms.items() if not part or part in name}


def cases(models: Iterable[str], batch_size: int) -> list[Case]:
    """These models in eager PyTorch."""
    return [Case(workload=model, compiler="identity", batch_size=batch_size) for model in models]
