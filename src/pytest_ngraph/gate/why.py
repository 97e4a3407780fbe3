"""Where head and base of a case differ, as one sentence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import NormalDist
from typing import Any

from pytest_ngraph.explain.counters import in_words
from pytest_ngraph.explain.explanation import SLOWED
from pytest_ngraph.explain.places import is_within, lowest
from pytest_ngraph.explain.profile import SILENT
from pytest_ngraph.metrics.between import NORMAL, TAIL
from pytest_ngraph.metrics.text import signed
from pytest_ngraph.stats import Estimate
from pytest_ngraph.wording import counted, enumerated, grouped, listed

Row = Mapping[str, Any]
"""A part of the time, as `Explanation.to_dict` writes it."""
UNEXPLAINED = "where is not known"
"""What a sentence begins with where there is no explanation."""
UNNAMED = ("unattributed", "outside", "others")
"""Kinds of parts that are no modules, operators or layout changes."""
OUTSIDE = "what is outside of kernels, such as Python,"
MOST_PARTS = 2
"""Modules, or kinds of operators, that a sentence names."""
MOST_INFLATED = 1.2
"""A profiled difference that is more than this many times the timed one is called profiled, and a part that is has no
share."""
MOST_CHANGES = 3
"""Operations, fusions and kinds of kernels that it names."""


def why(explanation: Mapping[str, Any], ratio: float) -> str:
    """Return an explanation in words: ``layer3.0.conv1` +2.1 ms [1.9, 2.3], 94 % of the slowdown; 91 % profiled`.

    Args:
        explanation: as `Explanation.to_dict` writes it, or `problem`: why there is none.
        ratio: the head's time over the base's, as all launches show it.
    """
    if problem := explanation.get("problem"):
        return f"{UNEXPLAINED}: {problem}"
    rows, timed = explanation["rows"], slowdown_s(explanation, ratio)
    slower, word = (True, "slower") if timed > 0 else (False, "faster")
    profiled = sum(row["difference"][0] for row in rows if row["kind"] != "outside") * (1 if slower else -1)
    whole = max(abs(timed), profiled)
    what = "profiled " * (profiled > MOST_INFLATED * abs(timed)) + ("slowdown" if slower else "gain")
    sure = surely_differing(rows, slower=slower)
    known = [row for row in sure if row["kind"] not in UNNAMED]
    named = known[:MOST_PARTS]
    shown = named or [row for row in sure if row["kind"] == "outside"]
    parts = [_part(row, whole, what) for row in shown] or [f"no single part of it is surely {word}"]
    parts += _further(known, word)
    first = [row["name"] for row in named if row["kind"] in ("module", "between")]
    parts += _graph(explanation.get("graph"), first)
    parts += _compiled(explanation["compiled"], first)
    parts += in_words(explanation.get("counters", ()))
    return "; ".join([*parts, _coverage(min(explanation["coverage"]))])


def slowdown_s(explanation: Mapping[str, Any], ratio: float) -> float:
    """Return by how many seconds a call of the head is longer than one of the base.

    It follows from the launches, which time far more calls than there are beside the profiles.

    Args:
        explanation: as `Explanation.to_dict` writes it.
        ratio: the head's time over the base's, as all launches show it.
    """
    base_s: float = explanation["latency_s"][0][0]
    return (ratio - 1) * base_s


def surely_differing(rows: Sequence[Row], *, slower: bool) -> list[Row]:
    """Return the parts that surely became slower, or else faster, in their order.

    Each has a 95 % interval. Of fifty parts of an unchanged network, one or two would exclude zero by chance. So the
    intervals are widened until 95 in 100 networks have none that does (Bonferroni, for normal errors).

    Args:
        rows: all parts, as `Explanation.to_dict` writes them.
    """
    wider = NormalDist().inv_cdf(1 - TAIL / max(1, len(rows))) / NORMAL
    return [row for row in rows if _is_beyond_zero(row, wider if slower else -wider)]


def _is_beyond_zero(row: Row, wider: float) -> bool:
    """Return whether the interval of a part lies above zero, or below it where `wider`, its factor, is negative."""
    difference = Estimate.with_bounds(*row["difference"])
    if wider > 0:
        return difference.value > wider * (difference.value - difference.low)
    return -difference.value > -wider * (difference.high - difference.value)


def _part(row: Row, whole: float, what: str) -> str:
    """Return a part with its difference.

    Args:
        whole: seconds of the whole difference, as timed or as profiled, whichever is larger.
        what: what that difference is called.
    """
    name = {"layout": "layout changes", "outside": OUTSIDE}.get(row["kind"], _module(row["name"]))
    name += ", between its parts," if row["kind"] == "between" else ""
    difference = Estimate.with_bounds(*row["difference"])
    is_more = abs(difference.value) > MOST_INFLATED * whole
    share = "more than the whole" if is_more else f"{100 * abs(difference.value) / whole:.0f} % of the"
    return f"{name} {signed(difference, 's')}, {share} {what}"


def _further(known: Sequence[Row], how: str) -> Iterator[str]:
    """Yield how many parts are not named, and the module that has all parts, if the network is more than that."""
    if len(known) > MOST_PARTS:
        is_modules = all(row["kind"] in ("module", "between") for row in known)
        common = lowest(row["name"] for row in known) if is_modules else ""
        within = f", all in {_module(common)}" if common else ""
        yield f"{counted(len(known) - MOST_PARTS, 'more part')} {how}{within}"


def _coverage(share: float) -> str:
    """Return how much of a call the profiles show."""
    if share > SLOWED:
        return f"the profiler makes a call {share:.1f} times as long"
    return f"{100 * share:.0f} % of a call was profiled"


def _graph(graph: Mapping[str, Any] | None, first: Sequence[str]) -> Iterator[str]:
    """Yield which modules have another path, which operations only one side has, and which differ.

    Args:
        first: paths of the modules whose operations come first.
    """
    moved = [f"{_module(one)} is now {_module(other)}" for one, other in (graph or {}).get("moved", {}).items()]
    if moved:
        yield listed(moved, MOST_CHANGES)
    for key in ("added", "removed", "changed"):
        if found := list(_operations((graph or {}).get(key, ()), first)):
            yield f"{key}: {listed(found, MOST_CHANGES)}"


def _operations(changes: Sequence[Mapping[str, Any]], first: Sequence[str]) -> Iterator[str]:
    """Yield the operators of each module, `transpose and softmax in `blocks.3``; of those that compute, if any does."""
    loud = [each for each in changes if each["operator"] not in SILENT]
    by_module = grouped((each["module"], each["operator"]) for each in _in_order(loud or changes, first))
    for module, operators in by_module.items():
        yield f"{enumerated(operators, MOST_CHANGES)} in {_module(module)}"


def _compiled(compiled: Mapping[str, Any], first: Sequence[str]) -> Iterator[str]:
    """Yield which fusions were lost, and which kernels are of another kind. `first` is as in `_graph`."""
    if lost := [*compiled["lost"]]:
        yield f"no longer fused: {listed(lost, MOST_CHANGES)}"
    kinds = [
        f"{each['label']} in {_module(each['module'])}: {each['base']}, now {each['head']}"
        for each in _in_order(compiled["kinds"], first)
    ]
    if kinds:
        yield f"other kernels: {listed(kinds, MOST_CHANGES)}"


def _in_order(changes: Iterable[Mapping[str, Any]], first: Sequence[str]) -> list[Mapping[str, Any]]:
    """Return changes in their order, those in these modules before all others."""

    def place(change: Mapping[str, Any]) -> int:
        own = (number for number, module in enumerate(first) if is_within(change["module"], module))
        return next(own, len(first))

    return sorted(changes, key=place)


def _module(path: str) -> str:
    """Return a module as users read it; the whole network has no path."""
    return f"`{path}`" if path else "the network"
