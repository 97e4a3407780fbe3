"""The Pareto front of candidates: those that no other one is better than in every figure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pytest_ngraph.case import Case

if TYPE_CHECKING:
    from pytest_ngraph.advise.answer import Candidate


def figures(candidate: Candidate) -> dict[str, float]:
    """Return what is known of a candidate besides its error: time, memory, cold start, score."""
    values = {
        "s_per_sample": candidate.s_per_sample,
        "p99_s": candidate.p99.value if candidate.p99 else None,
        "serving_memory_bytes": candidate.cost("serving_memory_bytes"),
        "cold_start_s": candidate.cost("cold_start_s"),
        "score": candidate.record.score,
    }
    return {name: value for name, value in values.items() if value is not None}


def front_of(candidates: Sequence[Candidate]) -> set[Case]:
    """Return those that breach no limit, and that no other such one dominates: better in one figure, worse in none.

    If the costs of serving were measured for some, the others are left out, unless they have a score.
    """
    allowed = [each for each in candidates if not each.breaches]
    served = {each.case for each in allowed if each.cost("cold_start_s") is not None}
    shown = [each for each in allowed if not served or each.case in served or each.record.score is not None]
    complete = {each.case: _falling(figures(each)) for each in shown}

    def is_dominated(own: Mapping[str, float]) -> bool:
        return any(
            all(other.get(name, math.inf) <= value for name, value in own.items())
            and any(other.get(name, math.inf) < value for name, value in own.items())
            for other in complete.values()
        )

    return {case for case, own in complete.items() if not is_dominated(own)}


def _falling(values: Mapping[str, float]) -> dict[str, float]:
    """Return figures with the sign with which lower is better."""
    return {name: -value if name == "score" else value for name, value in values.items()}
