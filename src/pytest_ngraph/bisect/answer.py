"""What the gate answers about one case at one point: worse than the base, fine, undecided, or untestable."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pytest_ngraph.stats import Estimate

Found = Literal["worse", "fine", "undecided", "untestable"]
"""`worse` is what is looked for: surely slower than the base by more than the margin, or surely faster with
`--improved`. `fine` is surely not. `undecided` is neither. `untestable`: it cannot be built, run or found there."""
UNANSWERED: Mapping[Found, str] = {"untestable": "cannot be built or run", "undecided": "stayed undecided"}
"""Answers that leave a point open, in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The answer about one case.

    Attributes:
        ratio: its time over the base's, with the interval that the answer rests on; None where nothing was measured.
        confidence: of that interval.
        why: where it differs from the base, in one sentence; empty where it was not profiled.
        reason: why it is undecided or untestable, or needed no measuring.
        same_as: the point whose answer this is, because graph, weights, options and compiler are the same.
    """

    found: Found
    ratio: Estimate | None = None
    confidence: float | None = None
    why: str = ""
    reason: str = ""
    same_as: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as JSON-ready data."""
        return dataclasses.asdict(self) | {"ratio": list(self.ratio) if self.ratio else None}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Answer:
        """Return the answer from the data of `to_dict`."""
        return cls(**data | {"ratio": Estimate(*data["ratio"]) if data["ratio"] else None})


def usual_reasons(answers: Collection[Answer]) -> dict[Found, str]:
    """Return the most frequent reason for each kind of answer that leaves a point open; of several, the first."""
    found: dict[Found, str] = {}
    for kind in UNANSWERED:
        reasons = Counter(answer.reason for answer in answers if answer.found == kind and answer.reason)
        if reasons:
            found[kind] = reasons.most_common(1)[0][0]
    return found
