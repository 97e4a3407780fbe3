"""What several runs of the same code on one machine show of how much its processes and its sessions differ."""

from __future__ import annotations

import hashlib
import json
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from pytest_ngraph.case import Case
from pytest_ngraph.metrics.between import Between, Squares
from pytest_ngraph.metrics.cells import why_not_measured
from pytest_ngraph.record import Record
from pytest_ngraph.stats import FEWEST_ROUNDS, Floats
from pytest_ngraph.wording import counted

NOT_OF_THE_CODE = ("settings", "against", "tails_s")
"""What a record depends on that changes how long it is measured, not how long it takes."""


class Timed(NamedTuple):
    """The time of a case in one run.

    Attributes:
        conditions: digest of the code, the libraries and the machine; equal for runs that may be compared.
        log_s: logarithm of the median seconds per iteration.
    """

    case: Case
    conditions: str
    run: str
    log_s: float


def timed(records: Iterable[Record]) -> Iterator[Timed]:
    """Yield the time of each record that was measured and says under which conditions."""
    conditions = Conditions()
    for record in records:
        if record.follows_from and not why_not_measured(record) and len(record.rounds) >= FEWEST_ROUNDS:
            yield Timed(record.case, conditions.of(record), record.run, math.log(record.latency_s))


class Conditions:
    """Digests of the conditions under which records were made."""

    def __init__(self) -> None:
        self._texts: dict[str, tuple[object, str]] = {}
        self._digests: dict[str, str] = {}

    def of(self, record: Record) -> str:
        """Return the digest of a record's conditions; empty where it does not say any."""
        if not record.follows_from:
            return ""
        code = {key: value for key, value in record.follows_from.items() if key not in NOT_OF_THE_CODE}
        text = "\n".join(f"{key}={self._text(key, code[key])}" for key in sorted(code))
        found = hashlib.sha256(text.encode()).hexdigest()
        return self._digests.setdefault(found, found)

    def _text(self, key: str, value: object) -> str:
        """Return a value as text. Neighbours mostly have the same, which is written once."""
        known = self._texts.get(key)
        if known is None or known[0] != value:
            known = self._texts[key] = value, json.dumps(value, sort_keys=True)
        return known[1]


def learned(times: Iterable[Timed], prior: Between) -> Between:
    """Return what is known of a machine from what was known before and from runs of the same code.

    In the table of a group, with a row for each of its cases and a column for each run, what a column has in common is
    the session's part, and what is left is that of its processes (analysis of variance). Both are moderated by what was
    known before, as in Smyth (2004).
    """
    processes, sessions, runs = Squares(), Squares(), set[str]()
    for table, names in _tables(times):
        residuals = table - table.mean(axis=1, keepdims=True)
        common = residuals.mean(axis=0)
        cases, count = table.shape
        if cases > 1:
            processes.add(float(np.sum((residuals - common) ** 2)), (cases - 1) * (count - 1))
        sessions.add(float(np.sum(common**2)), count - 1)
        runs |= names
    if not runs:
        return prior
    process = processes.moderating(prior.process)
    # The mean of a group's cases has a part of their own, too, which is smaller the more they are; it is left in.
    session = sessions.moderating(prior.session, most=len(runs) - 1)
    return replace(
        prior, process=process, session=session, source=f"as in {counted(len(runs), 'run')} of the same code here"
    )


def _tables(times: Iterable[Timed]) -> Iterator[tuple[Floats, set[str]]]:
    """Yield each group's times, shape (cases, runs), of the cases and the runs that have each other; and the runs."""
    groups: dict[Case, dict[tuple[Case, str], dict[str, float]]] = defaultdict(lambda: defaultdict(dict))
    for each in times:
        groups[each.case.group][each.case, each.conditions][each.run] = each.log_s
    for rows in groups.values():
        several = [row for row in rows.values() if len(row) > 1]
        shared = set.intersection(*(set(row) for row in several)) if several else set()
        for chosen in [several] if len(shared) > 1 else [[row] for row in several]:
            yield _table(chosen), set.intersection(*(set(row) for row in chosen))


def _table(rows: Sequence[Mapping[str, float]]) -> Floats:
    names = sorted(set.intersection(*(set(row) for row in rows)))
    return np.array([[row[name] for name in names] for row in rows], dtype=np.float64)
