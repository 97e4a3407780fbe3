"""Resume an unfinished run: which records still stand, which are stale, and which cases it died in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterator, Mapping
from itertools import islice
from pathlib import Path

from pytest_ngraph import store
from pytest_ngraph.bench.asked import NOTHING, Asked, lacking
from pytest_ngraph.case import Case
from pytest_ngraph.errors import UsageError
from pytest_ngraph.machine.standing import FollowsFrom, staleness
from pytest_ngraph.record import Failure, Record
from pytest_ngraph.session.options import NEWEST_UNFINISHED, ResumeOptions
from pytest_ngraph.store import Journal, Run
from pytest_ngraph.store.outline import Entry, Outline
from pytest_ngraph.wording import counted


class Kept(Mapping[Case, Record]):
    """Records by case. Those of an outline are read when they are asked for."""

    def __init__(self) -> None:
        self._found: dict[Case, Record | Entry] = {}

    def __setitem__(self, case: Case, found: Record | Entry) -> None:
        self._found[case] = found

    def __getitem__(self, case: Case) -> Record:
        found = _record(self._found[case])
        if found.case != case:  # an argument of another type may have the same id
            raise KeyError(case)
        return found

    def __contains__(self, case: object) -> bool:
        return case in self._found

    def __iter__(self) -> Iterator[Case]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)


class ResumedRun:
    """A run that this session resumes.

    Args:
        run: the run, or its outline.
        retries: how often a case is measured again that was running when the run died.
        retry_failed: whether every case is measured again that failed in a way that may have been chance.

    Attributes:
        journal: where further records go.
        kept: records that still stand, by case.
        stale: cases that are measured again, and why.
        retried: cases that were running when the run died and are measured again.
        failed: cases that failed in a way that may have been chance and are measured again.
    """

    def __init__(self, run: Run | Outline, journal: Journal, retries: int, *, retry_failed: bool = False) -> None:
        self._outline = run if isinstance(run, Outline) else None
        self.run = run.run if isinstance(run, Outline) else run
        self.journal = journal
        self.kept = Kept()
        self.stale: dict[Case, list[str]] = {}
        self.retried: list[Case] = []
        self.failed: list[Case] = []
        self._retries = retries
        self._retry_failed = retry_failed
        self._groups_measured: set[Case] = set()
        self._records = {record.case: record for record in self.run.records}
        self._reasons: dict[Hashable, list[str]] = {}

    def stands(self, case: Case, follows_from: FollowsFrom, asked: Asked = NOTHING) -> bool:
        """Whether the case needs no measuring; `kept` then has its record, or the record of its crashes.

        Args:
            follows_from: returns what a record would follow from now; the same for every case of an outline.
            asked: what has to be measured besides rounds.
        """
        found = self._outline.entry(case) if self._outline else self._records.get(case)
        if case in self.run.deaths and (found is None or not _is_known(found)):
            if self.run.deaths[case].times > self._retries and not self._retry_failed:
                self.kept[case] = found or self._crashed(case)
            else:
                self.retried.append(case)
        elif found is not None and self._retry_failed and found.may_pass:
            self.failed.append(case)
        elif found is not None:
            reasons = self._why_stale(found, case, follows_from, asked)
            if reasons:
                self.stale[case] = reasons
            else:
                self.kept[case] = found
        stands = case in self.kept
        if not stands:
            self._groups_measured.add(case.group)
        return stands

    def _why_stale(self, found: Record | Entry, case: Case, follows_from: FollowsFrom, asked: Asked) -> list[str]:
        """Return why a record does not stand any more. It is read only if none like it was looked at before."""
        like = None if isinstance(found, Record) else found.trait.key
        if not like:
            return _reasons(_record(found), case, follows_from, asked)
        key = (like, case.scored_by, asked.of(case))
        if key not in self._reasons:
            self._reasons[key] = _reasons(_record(found), case, follows_from, asked)
        return self._reasons[key]

    @property
    def ids(self) -> Collection[str]:
        """The ids of the cases that have a record."""
        return self._outline.ids if self._outline else {case.id for case in self._records}

    @property
    def threads(self) -> int | None:
        """The most cores that this run compared on so far; None where it has compared nothing."""
        if self._outline:
            return self._outline.compared_on
        compared = [record.threads for record in self.run.records if record.comparison is not None]
        return max(filter(None, compared), default=None)

    @property
    def description(self) -> str:
        """What the run has, in one line."""
        count = len(self.ids)
        measured = f"{count} of {len(self.run.planned) or count} cases have a record"
        dropped = f"; left out: {'; '.join(self.run.dropped)}" if self.run.dropped else ""
        return f"resuming run {self.run.id}: {measured}{dropped}"

    @property
    def notes(self) -> Iterator[str]:
        """What became of the earlier cases that this session selected, one sentence each."""
        if self.kept:
            yield f"{counted(len(self.kept), 'case')} of run {self.run.id} taken over from an earlier session."
        for reasons, count in Counter("; ".join(reasons) for reasons in self.stale.values()).items():
            yield f"{counted(count, 'case')} measured again: {reasons}."
        if self.retried:
            count = len(self.retried)
            yield f"{counted(count, 'case')} measured again that ran when the run died: {_ids(self.retried)}."
        if self.failed:
            count = len(self.failed)
            yield f"{counted(count, 'case')} measured again, whose failure may have been chance: {_ids(self.failed)}."
        parted = {case.group for case in self.kept} & self._groups_measured
        if parted:
            yield (
                f"Measured in several sessions, so that their compilers are not compared in the same minutes, and "
                f"fewer answers are sure: {', '.join(sorted(case.group_label for case in parted))}."
            )

    def left_out(self, planned: Collection[str]) -> Iterator[str]:
        """Yield a sentence on the run's cases that this session leaves out, if there are any.

        Args:
            planned: ids of the cases that the tests of this session ask for.
        """
        ids, own = set(self.ids), set(planned)
        left_out = (ids | self.run.planned) - own
        if left_out:
            known = len(left_out & ids)
            unfinished = "" if known == len(left_out) else "; the run stays unfinished"
            yield (
                f"Left out: {counted(len(left_out), 'case')} of run {self.run.id} that this session's tests do not ask "
                f"for (-k, paths, options, skips), {known:,} of them with a record{unfinished}."
            )

    def _crashed(self, case: Case) -> Record:
        """Return the record of a case that crashed too often to be tried again."""
        times, phase = self.run.deaths[case]
        message = f"the run died {_times(times)} while this case was in it; --ngraph-retry-failed tries again"
        return Record.failed(case, Failure(phase=phase, kind="crashed", message=message))


def open_run(folder: Path, options: ResumeOptions, race: str = "") -> ResumedRun | None:
    """Return the run of the store in this folder to resume; None where there is none.

    Args:
        race: the workload, for a race; empty for a run of tests.

    Raises:
        UsageError: there is no such run, or it is of another kind.
        StoreError: another process writes to it.
    """
    name = options.run
    if name == NEWEST_UNFINISHED:
        found = store.unfinished(folder, race) or (_newest_to_retry(folder) if options.retry_failed else None)
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
    elif (other := store.race_of(folder, name)) != race:
        raise _of_another_kind(name, other, race)
    journal = Journal.reopen(folder, name, race)
    return ResumedRun(store.outlined(folder, name), journal, options.retries, retry_failed=options.retry_failed)


def _of_another_kind(run: str, kind: str, asked: str) -> UsageError:
    """Return the error for a run that cannot be resumed. Kinds are the workloads of races; empty for tests."""
    if kind:
        what, command = f"a race of {kind}", f"pytest-ngraph advise {kind} --resume={run}"
    else:
        what, command = "a run of tests", f"pytest --ngraph-resume={run}"
    resumed = f"advise {asked} resumes races of {asked}" if asked else "pytest resumes runs of tests"
    return UsageError(f"run {run} is {what}, and {resumed}. To resume it: {command}.")


def _newest_to_retry(folder: Path) -> str | None:
    """Return the newest run of tests, if one of its failures may have been chance and no process writes to it."""
    of_tests = (run for run in reversed(store.run_ids(folder)) if not store.race_of(folder, run))
    newest = (run for run in islice(of_tests, 1) if not store.is_live(folder, run))
    return next((run for run in newest if store.outlined(folder, run).may_pass), None)


def _record(found: Record | Entry) -> Record:
    return found if isinstance(found, Record) else found.record


def _is_known(found: Record | Entry) -> bool:
    """Return whether what a record follows from is known."""
    return bool(found.follows_from) if isinstance(found, Record) else found.trait.known


def _reasons(record: Record, case: Case, follows_from: FollowsFrom, asked: Asked) -> list[str]:
    return [*staleness(record, follows_from), *lacking(record, case, asked)]


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _ids(cases: list[Case]) -> str:
    return ", ".join(case.id for case in cases)
