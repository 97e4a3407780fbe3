"""Which parts of a network differ between head and base, by an explanation that a comparison keeps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import NormalDist
from typing import Any

from pytest_ngraph.explain.places import is_within
from pytest_ngraph.metrics.between import NORMAL, TAIL
from pytest_ngraph.stats import Estimate

Row = Mapping[str, Any]
"""A part of the time, as `Explanation.to_dict` writes it."""


def slowdown_s(explanation: Mapping[str, Any], ratio: Estimate) -> Estimate:
    """Return by how many seconds a call of the head is longer than one of the base.

    It follows from the launches, which time far more calls than there are beside the profiles.

    Args:
        explanation: as `Explanation.to_dict` writes it.
        ratio: the head's time over the base's, as all launches show it.
    """
    base_s: float = explanation["latency_s"][0][0]
    return Estimate(*((each - 1) * base_s for each in ratio))


def differing(explanation: Mapping[str, Any], *, slower: bool) -> list[Row]:
    """Return the parts that surely became slower, or else faster: first those in which an operation has changed.

    What has not changed itself differs because of what has, such as a layer whose input has another layout now.
    """
    sure = surely_differing(explanation["rows"], slower=slower)
    same = unchanged(sure, explanation)
    return sorted(sure, key=lambda row: is_module(row) and row["name"] in same)


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


def unchanged(parts: Iterable[Row], explanation: Mapping[str, Any]) -> set[str]:
    """Return the names of the modules among these parts of which no operation has changed, if one of another has."""
    graph = explanation.get("graph") or {}
    paths = {each["module"] for key in ("added", "removed", "changed") for each in graph.get(key, ())}
    modules = {part["name"] for part in parts if is_module(part)}
    changed = {module for module in modules if any(is_within(path, module) for path in paths)}
    return modules - changed if changed else set()


def is_module(row: Row) -> bool:
    """Return whether a part is a module, or what lies between the parts of one."""
    return row["kind"] in ("module", "between")


def together(rows: Sequence[Row]) -> Estimate:
    """Return the sum of differences of parts. Their intervals add up, as for errors that all parts share."""
    each = [Estimate.with_bounds(*row["difference"]) for row in rows]
    return Estimate(*map(sum, zip(*each, strict=True)))
