"""The runs of a stored baseline: what a case's times are compared with, and how much they differ by chance."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pytest_ngraph.case import Case
from pytest_ngraph.gate.launches import Effect
from pytest_ngraph.gate.pooling import Pooled
from pytest_ngraph.gate.stored.between_runs import BetweenRuns
from pytest_ngraph.record import Record
from pytest_ngraph.store.outlining import AT_ONCE, log_medians

FEWEST_ROUNDS = 2
"""A single round gives no estimate of its error."""
MACHINE_CODE = ("source", "variables", "python", "driver")
"""What identity's time depends on beside graph, files and libraries, as keys of `Record.follows_from`."""
BASES = (
    "in time",
    "in time, without identity beside it",
    "in time, because identity may have changed",
    "relative to identity, which ran the same code",
)
"""What decides, and why. The first is of identity itself."""
RUN_IDENTITY = ("torch", "torchvision", "timm", "numpy", "pytest-ngraph")
"""The libraries that run identity."""
RunOf = Mapping[Case, Record]


@dataclass(frozen=True, slots=True)
class Against:
    """A case of this run against the baseline.

    Attributes:
        time: logarithm of its seconds per iteration over those of the baseline's runs.
        ratio: the same, with all times divided by those of the group's identity in the same run; None where identity
            is no measure of the machine.
        identity: logarithm of that identity's seconds over those of the baseline's runs; None without `ratio`.
        runs: number of the baseline's runs that the decisive one of time and ratio is from.
        basis: which of the two decides, and why: a phrase that follows "slower than the baseline".
    """

    time: Pooled
    ratio: Pooled | None
    identity: Pooled | None
    runs: int
    basis: str


class StoredRuns:
    """The measured records of a baseline's runs, oldest first."""

    def __init__(self, runs: Sequence[RunOf]) -> None:
        self._runs = runs
        self._records: dict[Case, list[Record]] = defaultdict(list)
        for run in runs:
            for case, record in run.items():
                self._records[case].append(record)
        self._effects: dict[int, tuple[Record, Effect]] = {}

    @property
    def cases(self) -> list[Case]:
        """The cases that any run measured."""
        return list(self._records)

    def records(self, case: Case) -> list[Record]:
        """Return the records of a case, one of each run that has it."""
        return self._records.get(case, [])

    def usable(self, head: Record) -> dict[int, Record]:
        """Return the records that a record is compared with, by the number of their run.

        They have enough rounds. Of these, where there are any, they are the undisturbed ones on as many cores.
        """
        return _usable(head.case, self._runs, head.threads)

    def against(self, head: Record, heads: RunOf) -> Against:
        """Compare a record with those that are usable, of which there must be one.

        Machines are slower at one time than at another, and identity with them. So the ratio to identity decides where
        identity ran the same code in both runs, and the time where it did not.

        Args:
            heads: the records of this run so far.
        """
        case = head.case
        runs = self.usable(head)
        self._take([head, *runs.values()])
        time = self._time(head, runs)
        if case == case.group:
            return Against(time, None, None, len(runs), BASES[0])
        identity = _beside(head, heads)
        compared = {run: own for run in runs if (own := _beside(self._runs[run][case], self._runs[run])) is not None}
        if identity is None or not compared:
            return Against(time, None, None, len(runs), BASES[1])
        alike = [run for run, own in compared.items() if ran_same_code(own, identity)]
        if not alike:
            return Against(time, None, None, len(runs), BASES[2])
        newcomer = over(self._effect_of(head), self._effect_of(identity))
        ratio = self._of_ratios.departure(case, newcomer, [self._ratio(run, case) for run in alike])
        of_identity = self._time(identity, alike)
        return Against(time, ratio, of_identity, len(alike), BASES[3])

    @cached_property
    def _of_times(self) -> BetweenRuns[Case]:
        """How much times differ from run to run. All cases share the speed of the machine."""
        effects = {case: {run: self._effect(run, case) for run in runs} for case, runs in self._last_alike.items()}
        return BetweenRuns(effects, dict.fromkeys(effects, ""))

    @cached_property
    def _of_ratios(self) -> BetweenRuns[Case]:
        """How much ratios to identity differ from run to run. The cases of a group share identity's error."""
        effects: dict[Case, dict[int, Effect]] = {}
        for case, runs in self._last_alike.items():
            beside = {run: own for run in runs if (own := _beside(self._runs[run][case], self._runs[run])) is not None}
            if beside and case != case.group:
                last = beside[max(beside)]
                alike = [run for run, own in beside.items() if own is last or ran_same_code(own, last)]
                effects[case] = {run: self._ratio(run, case) for run in alike}
        return BetweenRuns(effects, {case: case.group for case in effects})

    @cached_property
    def _last_alike(self) -> dict[Case, list[int]]:
        """The runs of each case that are like its last one, where there are several."""
        found = {
            case: list(_usable(case, self._runs, own[-1].threads))
            for case, own in self._records.items()
            if len(own) > 1
        }
        self._take([self._runs[run][case] for case, runs in found.items() for run in runs])
        return found

    def _time(self, head: Record, runs: Iterable[int]) -> Pooled:
        """Return the logarithm of a record's seconds over those of its case in these runs."""
        effects = [self._effect(run, head.case) for run in runs]
        return self._of_times.departure(head.case, self._effect_of(head), effects)

    def _ratio(self, run: int, case: Case) -> Effect:
        return over(self._effect(run, case), self._effect(run, case.group))

    def _effect(self, run: int, case: Case) -> Effect:
        return self._effect_of(self._runs[run][case])

    def _effect_of(self, record: Record) -> Effect:
        """Return `log_seconds` of a record, which is computed once: a record is judged several times."""
        key = id(record)  # unique while the record is kept
        if key not in self._effects:
            self._take([record])
        return self._effects[key][1]

    def _take(self, records: Iterable[Record]) -> None:
        """Compute the effects of many records together, which takes a small part of the time of one after another."""
        waiting: dict[int, dict[int, Record]] = defaultdict(dict)
        for record in records:
            if id(record) not in self._effects:
                waiting[len(record.rounds)][id(record)] = record
        for own in waiting.values():
            alike = list(own.values())
            for begin in range(0, len(alike), AT_ONCE):
                some = alike[begin : begin + AT_ONCE]
                for record, found in zip(some, _logs_of_seconds(some), strict=True):
                    self._effects[id(record)] = record, found


def ran_same_code(one: Record, other: Record) -> bool:
    """Return whether two records of identity surely ran the same code: graph, weights, the user's files, PyTorch.

    A worker may have imported further files of the user for other cases. So files count as the same if none of those
    on one side is missing, or has another content, on the other.
    """
    before, now = one.follows_from, other.follows_from
    return bool(before.get("graph")) and before["graph"] == now.get("graph") and ran_alike(before, now)


def ran_alike(before: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """Return whether all is the same but the graph, of what two records of identity follow from."""
    if any(before.get(key) != now.get(key) for key in MACHINE_CODE):
        return False
    versions = (each.get("libraries", {}) for each in (before, now))
    if len({tuple(each.get(name) for name in RUN_IDENTITY) for each in versions}) > 1:
        return False
    files, other_files = (set(each.get("files", {}).values()) for each in (before, now))
    return files <= other_files or other_files <= files


def is_known(record: Record) -> bool:
    """Return whether a record has enough rounds to estimate its error."""
    return len(record.rounds) >= FEWEST_ROUNDS


def is_busy(record: Record) -> bool:
    """Return whether the kernel reported other work on the cores while the record was made."""
    return record.contention.is_busy


def log_seconds(record: Record) -> Effect:
    """Return the logarithm of a record's median seconds per iteration, with its standard error within the run.

    The record needs `FEWEST_ROUNDS` or more.
    """
    return _logs_of_seconds([record])[0]


def _logs_of_seconds(records: Sequence[Record]) -> list[Effect]:
    """Return `log_seconds` of records with equally many rounds."""
    logs, errors = log_medians(np.array([record.samples for record in records]))
    return list(map(Effect, logs.tolist(), errors.tolist()))


def over(one: Effect, other: Effect) -> Effect:
    """Return the logarithm of a ratio of times."""
    return Effect(one.log_ratio - other.log_ratio, math.hypot(one.standard_error, other.standard_error))


def _beside(record: Record, run: RunOf) -> Record | None:
    """Return the record of the identity of a record's group, from the same run, on as many cores; None if unusable."""
    found = run.get(record.case.group)
    return found if found is not None and is_known(found) and found.threads == record.threads else None


def _usable(case: Case, runs: Sequence[RunOf], threads: int | None) -> dict[int, Record]:
    known = {number: run[case] for number, run in enumerate(runs) if case in run and is_known(run[case])}
    alike = {number: record for number, record in known.items() if record.threads == threads} or known
    return {number: record for number, record in alike.items() if not is_busy(record)} or alike
