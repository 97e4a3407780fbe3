"""A bisection from what was asked to its outcome, whatever its points are: commits, or environments."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from pytest_ngraph.bisect import lines
from pytest_ngraph.bisect.bisection import Bisection, Step
from pytest_ngraph.bisect.graph import Graph, Point
from pytest_ngraph.bisect.journal import JournaledGate
from pytest_ngraph.bisect.options import Asked
from pytest_ngraph.bisect.outcome import Outcome
from pytest_ngraph.bisect.question import LearningGate, Question, Reply
from pytest_ngraph.stats import without_infinities
from pytest_ngraph.wording import counted

SCHEMA = 1
"""Rises when a key of the data is removed or changes its meaning; new keys may come without it."""
Show = Callable[[str], object]


class Points(Protocol):
    """What there is to choose from.

    Attributes:
        noun: what a point is: `commit`.
        good: the good point, which is not in the graph.
        bad: the bad one, which is.
    """

    noun: str
    good: Point
    bad: Point
    graph: Graph

    @property
    def ends(self) -> Mapping[str, str]:
        """What replaces the ends that were asked for when a bisection is resumed: a branch may have moved since."""
        ...

    @property
    def announcement(self) -> str:
        """What there is to choose from, as users see it before the first step."""
        ...

    def gate(self, asked: Asked, folder: Path) -> LearningGate:
        """Return the gate that answers about these points. `folder` is for what its runs write."""
        ...

    def name(self, point: Point) -> str:
        """Return what users know a point by, in one line."""
        ...

    def described(self, point: Point) -> dict[str, Any]:
        """Return the same as JSON-ready data."""
        ...

    def clean(self) -> None:
        """Remove what runs that were killed have left behind."""
        ...


def points_of(asked: Asked, folder: Path) -> Points:
    """Return what there is between the ends that were asked for. Raise `UsageError` for ends that do not fit."""
    if asked.libraries:
        from pytest_ngraph.bisect.environments import Environments

        return Environments(asked)
    from pytest_ngraph.bisect.commits import between

    return between(asked.good, asked.bad or "HEAD", folder, first_parent=asked.first_parent)


def bisect(asked: Asked, points: Points, gate: JournaledGate, show: Show) -> Outcome:
    """Run a bisection, and show how far it is. Steps of an earlier session are not shown again."""
    show(points.announcement)
    if gate.earlier:
        show(f"{counted(gate.earlier, 'step')} answered before")
    shown = _Shown(gate, show, lines.became(asked.improved))

    def on_step(step: Step) -> None:
        if not gate.earlier:
            show(lines.of_step(step, points.name))

    return Bisection(
        points.graph,
        points.good,
        points.bad,
        shown,
        level=asked.level,
        margin=asked.margin,
        improved=asked.improved,
        on_step=on_step,
    ).run()


def as_json(outcome: Outcome, points: Points) -> str:
    """Return the outcome as one JSON object, documented in docs/bisect.md."""
    found = outcome.to_dict()
    named = {each for culprit in outcome.culprits for each in (culprit.point, culprit.parent)}
    named |= {point for each in outcome.ranges for point in (each.base, each.tip, *each.points)}
    described = {point: points.described(point) for point in sorted({outcome.good, outcome.bad, *named})}
    return json.dumps(without_infinities({"schema": SCHEMA, **found, f"{points.noun}s": described}), indent=2)


class _Shown:
    """A gate whose new replies are shown."""

    def __init__(self, gate: JournaledGate, show: Show, became: str) -> None:
        self._gate = gate
        self._show = show
        self._became = became

    def ask(self, question: Question) -> Reply:
        is_new = not self._gate.earlier
        reply = self._gate.ask(question)
        if is_new:
            self._show(lines.of_reply(reply.answers, reply.seconds, self._became))
        return reply
