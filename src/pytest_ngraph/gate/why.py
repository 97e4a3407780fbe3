"""Where head and base of a case differ, as one sentence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pytest_ngraph.explain.counters import in_words
from pytest_ngraph.explain.explanation import SLOWED
from pytest_ngraph.metrics.text import signed
from pytest_ngraph.stats import Estimate
from pytest_ngraph.wording import listed

UNEXPLAINED = "where is not known"
"""What a sentence begins with where there is no explanation."""
UNNAMED = ("unattributed", "outside", "others")
"""Kinds of parts that are no modules, operators or layout changes."""
OUTSIDE = "what is outside of kernels, such as Python,"
MOST_PARTS = 2
"""Modules, or kinds of operators, that a sentence names."""
MOST_INFLATED = 1.2
"""A profiled difference that is so many times the timed one is called what it is."""
MOST_CHANGES = 3
"""Operations, fusions and kinds of kernels that it names."""


def why(explanation: Mapping[str, Any]) -> str:
    """Return an explanation in words: ``layer3.0.conv1` +2.1 ms [1.9, 2.3], 94 % of the slowdown; 91 % profiled`.

    Args:
        explanation: as `Explanation.to_dict` writes it, or `problem`: why there is none.
    """
    if problem := explanation.get("problem"):
        return f"{UNEXPLAINED}: {problem}"
    timed, rows = explanation["difference_s"][0], explanation["rows"]
    slower, profiled = timed > 0, sum(row["difference"][0] for row in rows if row["kind"] != "outside")
    whole = max(abs(timed), abs(profiled))
    what = "profiled " * (abs(profiled) > MOST_INFLATED * abs(timed)) + ("slowdown" if slower else "gain")
    sure = [row for row in rows if _is_sure(row, slower=slower)]
    named = [row for row in sure if row["kind"] not in UNNAMED][:MOST_PARTS]
    shown = named or [row for row in sure if row["kind"] == "outside"]
    parts = [_part(row, whole, what) for row in shown] or ["no part of it differs beyond chance"]
    parts += _graph(explanation.get("graph"))
    parts += _compiled(explanation["compiled"])
    parts += in_words(explanation.get("counters", ()))
    return "; ".join([*parts, _coverage(min(explanation["coverage"]))])


def _is_sure(row: Mapping[str, Any], *, slower: bool) -> bool:
    """Return whether a part surely differs in the direction in which the whole does."""
    _, low, high = row["difference"]
    return (low or 0.0) > 0 if slower else (high or 0.0) < 0


def _part(row: Mapping[str, Any], whole: float, what: str) -> str:
    """Return a part with its difference.

    Args:
        whole: the difference of the whole, as timed or as profiled, whichever is larger.
        what: what that difference is called.
    """
    name = {"layout": "layout changes", "outside": OUTSIDE}.get(row["kind"], _module(row["name"]))
    name += ", between its parts," if row["kind"] == "between" else ""
    value, low, high = row["difference"]
    difference = Estimate.with_bounds(value, low, high)
    return f"{name} {signed(difference, 's')}, {100 * abs(value) / whole:.0f} % of the {what}"


def _coverage(share: float) -> str:
    """Return how much of a call the profiles show."""
    if share > SLOWED:
        return f"the profiler makes a call {share:.1f} times as long"
    return f"{100 * share:.0f} % of a call was profiled"


def _graph(graph: Mapping[str, Any] | None) -> Iterator[str]:
    """Yield which operations only one side has, and which differ."""
    for key in ("added", "removed", "changed"):
        found = [f"{each['operator']} in {_module(each['module'])}" for each in (graph or {}).get(key, ())]
        if found:
            yield f"{key}: {listed(list(dict.fromkeys(found)), MOST_CHANGES)}"


def _compiled(compiled: Mapping[str, Any]) -> Iterator[str]:
    """Yield which fusions were lost, and which kernels are of another kind."""
    if lost := [*compiled["lost"]]:
        yield f"no longer fused: {listed(lost, MOST_CHANGES)}"
    kinds = [
        f"{each['label']} in {_module(each['module'])}: {each['base']}, now {each['head']}"
        for each in compiled["kinds"]
    ]
    if kinds:
        yield f"other kernels: {listed(kinds, MOST_CHANGES)}"


def _module(path: str) -> str:
    """Return a module as users read it; the whole network has no path."""
    return f"`{path}`" if path else "the network"
