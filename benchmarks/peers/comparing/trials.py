"""Several tools measure the same networks alternately, so that drift of the machine affects all of them."""

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
    """The result of one session of a tool on a network.

    Attributes:
        seconds: median seconds per iteration.
        measured_s: seconds from the first iteration to the last one, including those that warm up or calibrate.
        wall_s: seconds of the whole session, which starts a process and builds the network.
    """

    seconds: float
    measured_s: float
    wall_s: float


Measure = Callable[[Case], Reading]
"""Runs a session of a tool. Raises `Failed`."""


class Trials(NamedTuple):
    """The readings of several arms.

    Attributes:
        readings: readings of each arm by its name: for each case, one per session.
        absent: why an arm has no readings, by its name.
    """

    readings: Mapping[str, Sequence[Sequence[Reading]]]
    absent: Mapping[str, str]

    def of(self, arm: str, field: str) -> Floats:
        """Return one field of an arm's readings, shape (cases, sessions)."""
        return np.array([[getattr(reading, field) for reading in own] for own in self.readings[arm]], dtype=np.float64)

    @property
    def notes(self) -> list[str]:
        """A sentence on each arm that is absent."""
        return [f"{arm} is left out: {reason}." for arm, reason in self.absent.items()]


def run(arms: Mapping[str, Measure], cases: Sequence[Case], sessions: int) -> Trials:
    """Run a number of sessions of every arm for every case, in a new random order each time.

    An arm that fails once is left out: with fewer sessions than the others, its figures would not be comparable.
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
    """Return the arms with this text in their name; all arms without it."""
    return {name: measure for name, measure in arms.items() if not part or part in name}


def cases(models: Iterable[str], batch_size: int) -> list[Case]:
    """Return the cases of these models in eager PyTorch."""
    return [Case(workload=model, compiler="identity", batch_size=batch_size) for model in models]
