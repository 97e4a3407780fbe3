"""What is asked of the gate, and what it replies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple, Protocol

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

    def to_dict(self) -> dict[str, Any]:
        """Return the question as JSON-ready data."""
        return asdict(self) | {"cases": None if self.cases is None else list(self.cases)}


class Reply(NamedTuple):
    """What a run of the gate answered.

    Attributes:
        measured: whether anything had to be measured.
        learned: what the next answers may build on, as JSON-ready data.
    """

    answers: Mapping[str, Answer]
    seconds: float
    measured: bool
    learned: Mapping[str, Any] = {}

    def to_dict(self) -> dict[str, Any]:
        """Return the reply as JSON-ready data."""
        return self._asdict() | {"answers": {case: each.to_dict() for case, each in self.answers.items()}}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Reply:
        """Return the reply from the data of `to_dict`."""
        return cls(**{**data, "answers": {case: Answer.from_dict(each) for case, each in data["answers"].items()}})


class Gate(Protocol):
    """Answers questions."""

    def ask(self, question: Question) -> Reply:
        """Answer a question now."""
        ...


class LearningGate(Gate, Protocol):
    """A gate whose answers build on earlier ones."""

    def learn(self, question: Question, reply: Reply) -> None:
        """Take in a reply that was given in an earlier session."""
        ...
