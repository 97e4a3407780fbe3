"""Where head and base of a case differ, as one sentence."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from pytest_ngraph.explain.counters import in_words
from pytest_ngraph.explain.explanation import SLOWED
from pytest_ngraph.explain.places import is_within, lowest
from pytest_ngraph.explain.profile import SILENT
from pytest_ngraph.gate.parts import Row, differing, is_module, slowdown_s, together, unchanged
from pytest_ngraph.metrics.text import signed, with_interval
from pytest_ngraph.stats import Estimate, difference, quotient
from pytest_ngraph.wording import counted, enumerated, grouped, listed

UNEXPLAINED = "where is not known"
"""What a sentence begins with where there is no explanation."""
UNNAMED = ("unattributed", "outside", "others")
"""Kinds of parts that are no modules, operators or layout changes."""
OUTSIDE = "what is outside of kernels, such as Python,"
MOST_PARTS = 2
"""Modules, or kinds of operators, that a sentence names."""
LEAST_SHARE = 0.1
"""The share of the first part's difference that a further one has to have to be named."""
MOST_INFLATED = 1.2
"""A profiled difference that is more than this many times the timed one is called profiled, and a part that is has no
share."""
MOST_CHANGES = 3
"""Operations, fusions and kinds of kernels that it names."""


def why(explanation: Mapping[str, Any], ratio: Estimate) -> str:
    """Return an explanation in words: ``layer3.0.conv1` +2.1 ms [1.9, 2.3], 94 % [88, 101] of the slowdown`, and more.

    Args:
        explanation: as `Explanation.to_dict` writes it, or `problem`: why there is none.
        ratio: the head's time over the base's, as all launches show it.
    """
    if problem := explanation.get("problem"):
        return f"{UNEXPLAINED}: {problem}"
    rows, timed = explanation["rows"], slowdown_s(explanation, ratio)
    is_slower = timed.value > 0
    word, opposite = ("slower", "faster") if is_slower else ("faster", "slower")
    whole = _whole(rows, timed)
    sure, against = (differing(explanation, slower=way) for way in (is_slower, not is_slower))
    known = _known(sure)
    named = _named(known)
    shown = named or [row for row in sure if row["kind"] == "outside"]
    same = unchanged(known, explanation)
    parts = [_part(row, whole, same) for row in shown] or [f"no single part of it is surely {word}"]
    parts += _further(known, named, whole, word)
    parts += _against(_known(against), whole, opposite)
    if known and not whole.is_profiled:
        parts += _rest([*sure, *against], timed)
    first = [row["name"] for row in named if is_module(row)]
    parts += _graph(explanation.get("graph"), first)
    parts += _compiled(explanation["compiled"], first)
    parts += in_words(explanation.get("counters", ()))
    return "; ".join([*parts, _coverage(min(explanation["coverage"]))])


class Whole(NamedTuple):
    """The whole difference, as timed, or as profiled where the profiler inflates it.

    Attributes:
        seconds: more than zero, also where the head is faster.
        name: what it is called.
        is_profiled: whether it is as profiled.
    """

    seconds: Estimate
    name: str
    is_profiled: bool = False


def _whole(rows: Sequence[Row], timed: Estimate) -> Whole:
    """Return the whole difference, which the launches have `timed`; negative seconds mean a faster head."""
    name = "slowdown" if timed.value > 0 else "gain"
    sign = 1 if timed.value > 0 else -1
    profiled = sign * sum(row["difference"][0] for row in rows if row["kind"] != "outside")
    if profiled > MOST_INFLATED * abs(timed.value):
        return Whole(Estimate.exactly(profiled), f"profiled {name}", is_profiled=True)
    return Whole(_unsigned(timed), name)


def _known(rows: Iterable[Row]) -> list[Row]:
    """Return the parts that are a module, an operator or layout changes."""
    return [row for row in rows if row["kind"] not in UNNAMED]


def _part(row: Row, whole: Whole, same: Container[str]) -> str:
    """Return a part with its difference. `same` has the modules that differ without having changed."""
    same_itself = ", not changed itself," if is_module(row) and row["name"] in same else ""
    return f"{_name(row)}{same_itself} {_difference(Estimate.with_bounds(*row['difference']), whole)}"


def _name(row: Row) -> str:
    """Return what a part is called."""
    name = {"layout": "layout changes", "outside": OUTSIDE}.get(row["kind"], _module(row["name"]))
    return f"{name}, between its parts," if row["kind"] == "between" else name


def _difference(of_part: Estimate, whole: Whole) -> str:
    """Return a difference with its share of the whole: `+2.1 ms [1.9, 2.3], 94 % [88, 101] of the slowdown`."""
    seconds = _unsigned(of_part)
    if seconds.value > MOST_INFLATED * whole.seconds.value:
        return f"{signed(of_part, 's')}, more than the whole {whole.name}"
    share = quotient(seconds, whole.seconds)
    bounded = with_interval(share.scaled(100), "%") if share.is_bounded else f"{100 * share.value:.0f} %"
    return f"{signed(of_part, 's')}, {bounded} of the {whole.name}"


def _unsigned(either: Estimate) -> Estimate:
    """Return a difference as one above zero."""
    value, low, high = either
    return either if value > 0 else Estimate(-value, -high, -low)


def _named(known: Sequence[Row]) -> list[Row]:
    """Return the parts that a sentence names: the first, and the next that differ by a fair part of what it does."""
    if not known:
        return []
    least_s = LEAST_SHARE * abs(known[0]["difference"][0])
    return [row for row in known if abs(row["difference"][0]) >= least_s][:MOST_PARTS]


def _further(known: Sequence[Row], named: Sequence[Row], whole: Whole, how: str) -> Iterator[str]:
    """Yield how many parts are not named, with the module that has all, and what all sum to."""
    if len(known) > len(named):
        yield f"{counted(len(known) - len(named), 'more part')} {how}{_within(known)}"
    if len(known) > 1:
        yield f"together {_difference(together(known), whole)}"


def _against(known: Sequence[Row], whole: Whole, how: str) -> Iterator[str]:
    """Yield the parts that differ the other way, where they make up for a fair part of the whole: `2 parts faster`."""
    if not known or abs(together(known).value) < LEAST_SHARE * whole.seconds.value:
        return
    of_all = signed(together(known), "s")
    if len(known) == 1:
        yield f"{_name(known[0])} {'are' if known[0]['kind'] == 'layout' else 'is'} {how}, {of_all}"
    else:
        yield f"{counted(len(known), 'part')} {how}{_within(known)}, together {of_all}"


def _rest(sure: Sequence[Row], timed: Estimate) -> Iterator[str]:
    """Yield what all parts that surely differ leave of the whole, where that is surely something, and a fair part."""
    rest = difference(timed, together(sure))
    if _unsigned(rest).low > 0 and rest.value / timed.value >= LEAST_SHARE:
        yield f"the rest, {signed(rest, 's')}, is in no single part"


def _within(known: Sequence[Row]) -> str:
    """Return the module that has all of these parts, if the network is more."""
    common = lowest(row["name"] for row in known) if all(map(is_module, known)) else ""
    return f", all in {_module(common)}" if common else ""


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
