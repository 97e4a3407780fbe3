"""Whether what a device sends has the shape of what it was asked for. A device may send anything."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

from pytest_ngraph.comparison import Comparison
from pytest_ngraph.explain.kept import KeptProfile
from pytest_ngraph.gate.why import why
from pytest_ngraph.machine.machine import CXX
from pytest_ngraph.record import Record
from pytest_ngraph.stats import Estimate
from pytest_ngraph.store import conforms
from pytest_ngraph.store.lines import LONGEST_S, record_of

TEXTS = dict[str, str]
FOLLOWS_FROM: Mapping[str, Any] = {
    **dict.fromkeys(("graph", "workload", "compiler", "source", CXX, "python", "driver", "machine", "against"), str),
    **dict.fromkeys(("libraries", "variables", "files"), TEXTS),
    **dict.fromkeys(("target", "settings"), dict[str, Any]),
}
"""The types of those parts of `provenance.of_measuring` that are read, and not only compared."""
SLOWER, FASTER = Estimate.exactly(2.0), Estimate.exactly(0.5)
"""Ratios of head and base for which an explanation is read on trial."""


def record(data: Any) -> Record:
    """Return the record in a device's data. Raises `ValueError` if it is none, or not one to compute with."""
    found = record_of(data)
    if found is None:
        raise ValueError("it sent no record, or one with impossible values")
    for name, value in found.follows_from.items():
        if name in FOLLOWS_FROM and not conforms(value, FOLLOWS_FROM[name]):
            raise ValueError(f"it sent a record that follows from {name} {value!r}"[:200])
    if not conforms(found.follows_from.get("target", {}).get("cores"), list[int] | int | None):
        raise ValueError("it sent a record without cores that can be counted")
    if found.profile and not _is_profile(found.profile):
        raise ValueError("it sent a record with a profile that cannot be read")
    if found.comparison and not _is_possible(found.comparison):
        raise ValueError("it sent a record with a comparison that cannot be computed with")
    return found


def _is_profile(data: dict[str, Any]) -> bool:
    if "kernels" not in data:
        return isinstance(data.get("problem"), str)
    try:
        kept = KeptProfile.from_dict(data)
        return conforms(kept, KeptProfile) and 0 < kept.latency_s < LONGEST_S
    except (LookupError, TypeError, ValueError, AttributeError):
        return False


def _is_possible(comparison: Comparison) -> bool:
    """Return whether every time of a comparison is one, and its explanation can be read."""
    if comparison.module and not _is_possible(comparison.module):
        return False
    quads = [quad for launch in comparison.launches for each in launch.rounds for quad in each.quads]
    times = chain((seconds for quad in quads for seconds in (*quad.base, *quad.head)), _calls(comparison))
    explanation = comparison.explanation
    try:
        readable = not explanation or all(isinstance(why(explanation, ratio), str) for ratio in (SLOWER, FASTER))
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError):
        return False
    return readable and all(0 < seconds < LONGEST_S for seconds in times)


def _calls(comparison: Comparison) -> Iterator[float]:
    for launch in comparison.calls:
        yield from (*launch.base, *launch.head)
