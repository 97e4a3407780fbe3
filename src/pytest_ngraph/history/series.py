"""The series of each case, with the steps in it and what changed at each."""

from __future__ import annotations

import math
import shlex
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cache
from typing import Any, Literal

import numpy as np

from pytest_ngraph.history import places, steps
from pytest_ngraph.history.chain import Link, chained
from pytest_ngraph.history.index import Index
from pytest_ngraph.history.levels import Chain
from pytest_ngraph.history.places import Place
from pytest_ngraph.history.row import Row
from pytest_ngraph.history.steps import LEVEL, Step
from pytest_ngraph.stats import Estimate
from pytest_ngraph.wording import changes

FactsOf = Callable[[str], dict[str, str]]
Unit = Literal["ratio", "seconds"]
"""Times over those of an anchor that was measured beside them; or seconds, which drift with the machine."""
IMPORTED = "import-"
"""What the runs of imported results begin with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A step, and what changed at it.

    Attributes:
        step: the step; its change is a logarithm.
        good: commit of the last night that is surely before it; empty where it is not known.
        bad: commit of the first night that is surely after it; empty where it is not known.
        when: when the first night after it began, in seconds since the epoch.
        libraries: what changed in libraries between the two, each as `torch 2.14.0 -> 2.15.0`.
        machine: what changed in the machine.
    """

    step: Step
    good: str
    bad: str
    when: float
    libraries: tuple[str, ...]
    machine: tuple[str, ...]

    @property
    def ratio(self) -> Estimate:
        """The time after the step over the time before, with its 95 % interval."""
        return Estimate(*(math.exp(bound) for bound in self.step.change))

    @property
    def is_slower(self) -> bool:
        return self.step.change.value > 0

    def bisect(self, case_id: str, parts: Mapping[str, Any]) -> str:
        """Return the command that finds the commit; empty where the commits are not known, or are the same.

        Uncommitted changes take no part in a bisection.

        Args:
            parts: of the case, as in `Summary.case`.
        """
        if not (self.good and self.bad) or self.good.rstrip("+") == self.bad.rstrip("+"):
            return ""
        words = ["pytest-ngraph", "bisect", self.good[:12], self.bad[:12], "--case", case_id]
        words += [] if self.is_slower else ["--improved"]
        asked = _options(parts)
        return shlex.join([*words, *(["--", *asked] if asked else [])])


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """The nights of a case.

    Attributes:
        case_id: id of the case.
        parts: as in `Summary.case`.
        unit: what the values are.
        rows: the nights, in order of time.
        chain: logarithms of ratios to the first anchor, or of seconds.
        links: later anchors.
        left_out: number of nights that cannot be compared with the others (`Chained.left_out`).
        steps: the steps in it, in order of time.
    """

    case_id: str
    parts: Mapping[str, Any]
    unit: Unit
    rows: tuple[Row, ...]
    chain: Chain
    links: tuple[Link, ...] = ()
    left_out: int = 0
    steps: tuple[Found, ...] = ()

    def gaps(self, since: float = 0.0) -> list[Link]:
        """Return the anchors used first since then that were never compared with those before: steps hide there."""
        return [link for link in self.links if math.isinf(link.error) and self.rows[link.start].started_at >= since]

    def bisect(self, step: Found) -> str:
        """Return the command that finds the commit of a step; empty where there is none, as for imported results."""
        return step.bisect(self.case_id, self.parts) if self.unit == "ratio" else ""


def _options(parts: Mapping[str, Any]) -> list[str]:
    """Return the options with which pytest collects a case whose tests do not name these parts themselves."""
    usual = {"device": "cpu", "batch_size": 1, "precision": "fp32", "objective": "latency"}
    asked = [
        f"--{name.replace('_', '-')}={parts[name]}"
        for name, default in usual.items()
        if parts.get(name) not in (None, default)
    ]
    asked += [f"--compiler={parts['compiler']}"] if ":" in parts.get("compiler", "") else []
    return asked + [f"--size={name}={value}" for name, value in parts.get("sizes", {}).items()]


def load(index: Index, pattern: str = "", branch: str = "", level: float = LEVEL, since: float = 0.0) -> list[Series]:
    """Return the series of all cases that have one, with their steps.

    Cases measured beside an anchor have ratios. Imported results have seconds.

    Args:
        index: the index, brought up to date.
        pattern: a part of the case's id, or a pattern with `*` and `?`; empty for all cases.
        branch: only nights of this branch; empty for all.
        level: chance that any of all series of a unit shows a step that is none.
        since: seconds since the epoch. Steps are left out that the nights before showed, too. A step is known some
            nights after it began, so that its beginning does not say whether it is new.
    """
    cases, parts, facts_of = glob(pattern), index.cases(), cache(index.facts)
    beside = _by_case((row for row in index.rows(cases, anchored=True) if row.ratio), branch)
    imported: dict[str, list[Row]] = {}
    every = _by_case((row for row in index.rows(run=f"{IMPORTED}*") if _has_seconds(row)), branch)
    for name, rows in every.items():
        for own in places.separated(name, rows, lambda row: Place.of(facts_of(row.machine) | facts_of(row.libraries))):
            if _is_chosen(name, cases) or _is_chosen(own.name, cases):
                imported[own.name] = own.rows
                parts[own.name] = parts[name] | ({"device": own.machine} if own.machine else {})
    found: list[Series] = []
    for make, by_case in ((_ratios, beside), (_seconds, imported)):
        made = _with_steps([make(case_id, parts[case_id], rows) for case_id, rows in by_case.items()], facts_of, level)
        if since:
            earlier = {case_id: [row for row in rows if row.started_at < since] for case_id, rows in by_case.items()}
            cut = [make(case_id, parts[case_id], rows) for case_id, rows in earlier.items() if rows]
            known = {each.case_id: each for each in _with_steps(cut, facts_of, level)}
            made = [_without_known(each, known[each.case_id]) if each.case_id in known else each for each in made]
        found += made
    return found


def _without_known(series: Series, before: Series) -> Series:
    """Return a series without the steps that an earlier part of it shows, too, in the same direction and place."""
    left = list(series.steps)
    for known in before.steps:
        same = [each for each in left if each.is_slower == known.is_slower and _overlap(series, each, before, known)]
        if same:
            left.remove(min(same, key=lambda each: abs(each.when - known.when)))
    return replace(series, steps=tuple(left))


def _overlap(series: Series, step: Found, before: Series, known: Found) -> bool:
    """Return whether two steps may lie at the same night."""
    (first, last), (early, late) = (
        (of.rows[each.step.earliest].started_at, of.rows[each.step.latest].started_at)
        for of, each in ((series, step), (before, known))
    )
    return first <= late and early <= last


def glob(pattern: str) -> str:
    """Return a part of an id as a pattern, and a pattern as it is."""
    return pattern if any(sign in pattern for sign in "*?") else f"*{pattern}*"


def _is_chosen(name: str, pattern: str) -> bool:
    return fnmatchcase(name, pattern.replace("[", "[[]"))


def is_on(row: Row, branch: str) -> bool:
    """Return whether a row is of this branch, empty for all. Those of an unknown branch belong to every one."""
    return not branch or row.branch in ("", branch)


def _by_case(rows: Iterable[Row], branch: str) -> dict[str, list[Row]]:
    """Return rows by case."""
    found: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        if is_on(row, branch):
            found[row.case_id].append(row)
    return found


def _ratios(case_id: str, parts: Mapping[str, Any], rows: Sequence[Row]) -> Series:
    nights, chain, links, left_out = chained(rows)
    return Series(
        case_id=case_id, parts=parts, unit="ratio", rows=nights, chain=chain, links=links, left_out=len(left_out)
    )


def _seconds(case_id: str, parts: Mapping[str, Any], rows: Sequence[Row]) -> Series:
    logs = np.array([math.log(row.latency.value) for row in rows if row.latency])
    return Series(case_id=case_id, parts=parts, unit="seconds", rows=tuple(rows), chain=Chain(logs, None))


def _has_seconds(row: Row) -> bool:
    """Return whether a row has a time above 0: files that earlier versions imported may have others."""
    return row.latency is not None and 0 < row.latency.value < math.inf


def _with_steps(found: Sequence[Series], facts_of: FactsOf, level: float) -> list[Series]:
    def explained(series: Series, step: Step) -> Found:
        before, after = series.rows[step.earliest - 1], series.rows[step.latest]
        return Found(
            step=step,
            good=before.commit,
            bad=after.commit,
            when=series.rows[step.place].started_at,
            libraries=tuple(sorted(changes(facts_of(before.libraries), facts_of(after.libraries)))),
            machine=tuple(sorted(changes(facts_of(before.machine), facts_of(after.machine)))),
        )

    by_series = steps.find([series.chain for series in found], level)
    return [
        replace(series, steps=tuple(explained(series, step) for step in own))
        for series, own in zip(found, by_series, strict=True)
    ]
