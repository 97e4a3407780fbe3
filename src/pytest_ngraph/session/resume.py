"""Resume an unfinished run: which records still stand, which are stale, and which cases it died in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from pytest_ngraph import store
from pytest_ngraph.bench.asked import NOTHING, Asked
from pytest_ngraph.case import Case
from pytest_ngraph.errors import UsageError
from pytest_ngraph.machine.standing import FollowsFrom, staleness
from pytest_ngraph.record import Failure, Record
from pytest_ngraph.session.options import NEWEST_UNFINISHED, ResumeOptions
from pytest_ngraph.store import Journal, Run
from pytest_ngraph.wording import counted


class ResumedRun:
    """A run that this session goes on with.

    Args:
        retries: how often a case is measured again that was running when the run died.
        retry_failed: whether every case is measured again that failed in a way that may have been chance.

    Attributes:
        journal: where further records go.
        kept: records that still stand, by case.
        stale: cases that are measured again, and why.
        retried: cases that were running when the run died and are measured again.
        failed: cases that failed in a way that may have been chance and are measured again.
    """

    def __init__(self, run: Run, journal: Journal, retries: int, *, retry_failed: bool = False) -> None:
        self.run = run
        self.journal = journal
        self.kept: dict[Case, Record] = {}
        self.stale: dict[Case, list[str]] = {}
        self.retried: list[Case] = []
        self.failed: list[Case] = []
        self._retries = retries
        self._retry_failed = retry_failed
        self._groups_measured: set[Case] = set()
        self._records = {record.case: record for record in run.records}

    def stands(self, case: Case, follows_from: FollowsFrom, asked: Asked = NOTHING) -> bool:
        """Whether the case needs no measuring; `kept` then has its record, or the record of its crashes.

        Args:
            follows_from: returns what a record would follow from now.
            asked: what has to be measured besides rounds.
        """
        record = self._records.get(case)
        if case in self.run.deaths and (record is None or not record.follows_from):
            if self.run.deaths[case].times > self._retries and not self._retry_failed:
                self.kept[case] = record or self._crashed(case)
            else:
                self.retried.append(case)
        elif record is not None and record.may_pass and self._retry_failed:
            self.failed.append(case)
        elif record is not None:
            reasons = [*staleness(record, follows_from), *_lacking(record, case, asked)]
            if reasons:
                self.stale[case] = reasons
            else:
                self.kept[case] = record
        if case not in self.kept:
            self._groups_measured.add(case.group)
        return case in self.kept

    @property
    def threads(self) -> int | None:
        """The most cores that this run compared on so far; None where it has compared nothing."""
        compared = [record.threads for record in self.run.records if record.comparison is not None]
        return max(filter(None, compared), default=None)

    @property
    def description(self) -> str:
        """What the run has, in one line."""
        measured = f"{len(self.run.records)} of {len(self.run.planned) or len(self.run.records)} cases have a record"
        dropped = f"; left out: {'; '.join(self.run.dropped)}" if self.run.dropped else ""
        return f"going on with run {self.run.id}: {measured}{dropped}"

    @property
    def notes(self) -> Iterator[str]:
        """What became of the earlier cases that this session selected, one sentence each."""
        if self.kept:
            yield f"{counted(len(self.kept), 'case')} of run {self.run.id} taken over from an earlier session."
        for reasons, count in Counter("; ".join(reasons) for reasons in self.stale.values()).items():
            yield f"{counted(count, 'case')} measured again: {reasons}."
        if self.retried:
            count = len(self.retried)
            yield f"{counted(count, 'case')} measured again, running when the run died: {_ids(self.retried)}."
        if self.failed:
            count = len(self.failed)
            yield f"{counted(count, 'case')} measured again, whose failure may have been chance: {_ids(self.failed)}."
        parted = {case.group for case in self.kept} & self._groups_measured
        if parted:
            yield (
                f"Measured in several sessions, so that their compilers are not compared in the same minutes: "
                f"{', '.join(sorted(case.group_label for case in parted))}."
            )

    def _crashed(self, case: Case) -> Record:
        """Return the record of a case that crashed too often to be tried again."""
        times, phase = self.run.deaths[case]
        message = f"the run died {_times(times)} while this case was in it; --ngraph-retry-failed tries again"
        return Record.failed(case, Failure(phase=phase, kind="crashed", message=message))


def open_run(folder: Path, options: ResumeOptions) -> ResumedRun | None:
    """Return the run of the store in this folder to go on with; None where there is nothing to go on with.

    Raises `UsageError` for a run that does not exist, and `StoreError` for one that another process writes to.
    """
    name = options.run
    if name == NEWEST_UNFINISHED:
        found = store.unfinished(folder) or (_newest_to_retry(folder) if options.retry_failed else None)
        if found is None:
            return None
        name = found
    elif name not in store.run_ids(folder):
        raise UsageError.unknown(
            "run",
            name,
            store.run_ids(folder)[-10:],
            "--ngraph-resume takes the next word for a run: write --ngraph-resume=latest before other arguments.",
        )
    journal = Journal.reopen(folder, name)
    return ResumedRun(store.read(folder, name), journal, options.retries, retry_failed=options.retry_failed)


def _newest_to_retry(folder: Path) -> str | None:
    """Return the newest run, if a failure in it may have been chance and no process writes to it; else None."""
    newest = store.run_ids(folder)[-1:]
    return next((run for run in newest if not store.is_live(folder, run) and _may_pass(store.read(folder, run))), None)


def _may_pass(run: Run) -> bool:
    return any(record.may_pass for record in run.records)


def _lacking(record: Record, case: Case, asked: Asked) -> Iterator[str]:
    """Yield what is asked of a case that its record does not have."""
    if record.lacks_score(case):
        yield f"{case.scored_by} has not scored it"
    if record.case in asked.served and record.lacks_costs:
        yield "what serving costs was not measured"
    compared = record.comparison
    if record.case in asked.compile_s and record.lacks_compile_s:
        yield "its seconds to compile are not known"
    if record.case in asked.profiled and record.lacks_profile and not (compared and compared.problem):
        yield "it was not profiled where the time goes"
    if compared is None or not compared.launches:
        return
    if record.case in asked.alone and not (compared.alone or compared.alone_problem):
        yield "head and base were not launched alone"
    if record.case in asked.tails and record.calls and not (compared.calls or compared.calls_problem):
        yield "single calls of head and base were not compared"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _ids(cases: list[Case]) -> str:
    return ", ".join(case.id for case in cases)
