"""What is asked of the gate, and what it replies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

from pytest_ngraph.bisect.answer import Answer
from pytest_ngraph.bisect.graph import Point

Purpose = Literal["ends", "search", "accuse", "rest"]
"""Are the ends different? Which half? Is it this point, compared with the one before? Is there more after it?"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One run of the gate.

    Attributes:
        head: the point that is measured.
        base: the point that it is measured beside.
        cases: ids of the cases to compare, as the bad point has them; None for all.
        level: the error level of the run.
        launches: fresh launches that a case may take; None for the usual number.
    """

    purpose: Purpose
    head: Point
    base: Point
    cases: tuple[str, ...] | None
    level: float
    launches: int | None = None


class Reply(NamedTuple):
    """What a run of the gate answered.

    Attributes:
        measured: whether anything had to be measured.
    """

    answers: Mapping[str, Answer]
    seconds: float
    measured: bool


class Gate(Protocol):
    """Answers questions."""

    def ask(self, question: Question) -> Reply: ...
