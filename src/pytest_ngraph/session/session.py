"""A session: the cases that its tests ask for, their records, and what follows from them at the end."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from pytest_ngraph.bench.local_site import LocalSite
from pytest_ngraph.bench.progress import Progress
from pytest_ngraph.bench.site import Site
from pytest_ngraph.case import Case
from pytest_ngraph.clock import Clock
from pytest_ngraph.errors import DeviceAway, StoreError
from pytest_ngraph.machine.machine import environment
from pytest_ngraph.session.judgement import Judgement
from pytest_ngraph.session.options import Options
from pytest_ngraph.session.plan import Plan
from pytest_ngraph.session.recorder import Recorder
from pytest_ngraph.session.results import ExtraMetrics
from pytest_ngraph.session.session_bench import SessionBench

if TYPE_CHECKING:
    from pytest_ngraph.against.live import LiveBase
    from pytest_ngraph.against.stored import StoredBase
    from pytest_ngraph.record import Record
    from pytest_ngraph.report.result import RunResult
    from pytest_ngraph.session.resume import ResumedRun
    from pytest_ngraph.store import Run


class Session:
    """Measures a group of cases when the first test of the group asks, and keeps every record.

    Args:
        options: options of the run.
        progress: is notified of which case is in which phase.
        on_record: called with each record once it is stored.
        extra_metrics: computes the users' own metrics from some records.
        against: base that is measured beside the cases; None for none.
        baselines: stored baselines that records are compared with.
        resumed: run that this session resumes; None for a new one.
        site: where cases are measured; this machine unless given.
        source: returns what is measured, as in `store.Journal`.

    Attributes:
        judgement: verdicts on the records so far, and the thresholds that they are held to.
        is_cut_short: whether cases were left out because the time was up or a device was gone.
    """

    def __init__(
        self,
        options: Options,
        progress: Progress,
        on_record: Callable[[Record], object] = lambda record: None,
        extra_metrics: ExtraMetrics = lambda records: (),
        against: LiveBase | None = None,
        baselines: Sequence[StoredBase] = (),
        resumed: ResumedRun | None = None,
        site: Site | None = None,
        clock: Clock = time.monotonic,
        source: Callable[[], Mapping[str, str]] = dict,
    ) -> None:
        self.options = options
        self.baselines = baselines
        self.resumed = resumed
        self.site = site or LocalSite()
        self.judgement = Judgement(options, [*baselines, *([against] if against else [])], extra_metrics)
        self.is_cut_short = False
        self.notes: list[str] = []
        self._against = against
        self._progress = progress
        self._on_record = on_record
        self._plan = Plan()
        self._recorder = Recorder(options.store, resumed, lambda: self._plan.ids, source)
        self._bench = SessionBench(
            options,
            self.site,
            self._plan,
            self._recorder,
            progress,
            against,
            resumed,
            is_over=lambda: options.resume.is_over(clock() - self._started_s),
            limits=lambda: self.judgement.knowledge_of_limits,
        )
        self._clock = clock
        self.start_clock()

    def start_clock(self) -> None:
        """Let the time of `--ngraph-max-seconds` begin now."""
        self._started_s = self._clock()

    def expect(self, case: Case, nodeid: str) -> None:
        """Plan a case that a test will ask for: it is measured together with the others of its group."""
        if case in self._plan:
            return
        self._plan.add(case, nodeid)
        asked = self.judgement.asked
        follows_from = partial(self._bench.would_follow_from, asked=asked)
        if self.resumed is None or not self.resumed.stands(case, follows_from, asked):
            self._progress.planned(case)

    def expects(self, case: Case) -> bool:
        """Whether a test will ask for this case."""
        return case in self._plan

    @property
    def base_has_own_libraries(self) -> bool:
        """Whether cases are compared with a base that may have libraries which this environment lacks."""
        return self._against is not None and self._against.origin.has_own_libraries

    def check_store(self) -> None:
        """Raise `StoreError` when the records of this session could not be stored."""
        self._recorder.check()

    @property
    def records(self) -> dict[Case, Record]:
        """The records so far, by case."""
        return self.judgement.records

    @property
    def unsaved(self) -> dict[Case, str]:
        """Cases that the store does not have, and why."""
        return self._recorder.unsaved

    @property
    def unmeasured(self) -> list[Case]:
        """Planned cases that have no record."""
        return [case for case in self._plan if case not in self.records]

    def record_of(self, case: Case) -> Record:
        """Return the case's record. The whole group is measured when its first case is asked for.

        A case that is not measured, because the store cannot be written, the time is up or its device is gone, gets
        a skipped record, which is not stored.
        """
        group = self._plan.beside(case)
        if case not in self.records:
            self._take_over(group)
        if case in self.records:
            return self.records[case]
        return self._measured_now(case, [each for each in group if each not in self.records])

    def measured(self, case: Case) -> Record:
        """Return the case's record with figures: an unchanged case is measured when a test reads one of them.

        Where it is not measured, the record returned is that of `record_of`, and the unchanged one is kept.
        """
        record = self.record_of(case)
        if record.outcome != "unchanged":
            return record
        self._bench.wanted.add(case)
        self._progress.planned(case)
        return self._measured_now(case, [case])

    def add(self, record: Record) -> None:
        """Store a record and announce it. When the store fails, the record is kept here and the case is unsaved."""
        if self.options.settings.smoke:
            self.records[record.case] = record
        else:
            self._announce(self._recorder.keep(record))

    def conclude(self, *, whole: bool) -> RunResult | None:
        """End the run: judge all records together, and save it as a baseline where the options say so.

        Args:
            whole: whether the session went to its end.

        Returns:
            What the run comes to; None where nothing is timed and where no test has a case.
        """
        conclusion = self.judgement.conclude(whole=whole)
        is_complete = self._recorder.end(whole=whole)
        has_tests = bool(self._plan.groups or self.judgement.judges or self.options.summary)
        if not self.options.measures or not (conclusion or has_tests):
            return None
        from pytest_ngraph.session.ending import end_run

        of_base = self._against.notes if self._against else []
        of_resumed = [*self.resumed.left_out(self._plan.ids), *self.resumed.notes] if self.resumed else ()
        return end_run(
            self._run(is_complete=is_complete),
            conclusion,
            self.options,
            self.judgement.judges,
            self._against,
            is_complete=is_complete,
            whole=whole,
            unmeasured=self.unmeasured,
            notes=[*self.notes, *of_base, *of_resumed, *self._bench.notes],
        )

    def close(self) -> None:
        """End the workers and close the journal."""
        self._bench.close()
        self._recorder.close()

    def _measured_now(self, case: Case, cases: Sequence[Case]) -> Record:
        """Measure cases, and return the record of one of them; a skipped one where that is not possible."""
        from pytest_ngraph.record import Record

        if obstacle := self._obstacle(case):
            return Record.skipped(case, obstacle)
        try:
            self._measure(cases)
        except DeviceAway as reason:
            self.is_cut_short = True
            return Record.skipped(case, str(reason))
        return self.records[case]

    def _measure(self, cases: Sequence[Case]) -> None:
        for record in self._bench.run(cases, self.records, self.judgement.asked):
            self._progress.finished(record.case)
            self.add(self._with_nodeid(record))

    def _take_over(self, group: Sequence[Case]) -> None:
        """Take over the records that an earlier session of this run has of a group."""
        if self.resumed is None:
            return
        self._recorder.open()
        if self._against is not None:  # the base says how many comparisons share the chance of a false alarm
            self._bench.open(self.records, self.judgement.asked)
        for case in group:
            record = self.resumed.kept.get(case)
            if record is None or case in self.records:
                continue
            if record.run:
                self._announce(record)
            else:
                self.add(self._with_nodeid(record))

    def _announce(self, record: Record) -> None:
        self.judgement.add(record)
        self._on_record(record)

    def _with_nodeid(self, record: Record) -> Record:
        """Return the record with the id of the first test that asks for it."""
        return dataclasses.replace(record, nodeid=self._plan.nodeid(record.case))

    def _obstacle(self, case: Case) -> str:
        """Return why no further group is measured; empty when it can be."""
        if self.options.settings.smoke:
            return ""
        resume = self.options.resume
        if resume.is_over(self._clock() - self._started_s):
            self.is_cut_short = True
            return f"the time of --ngraph-max-seconds={resume.max_seconds:g} is over; --ngraph-resume continues the run"
        try:
            self.check_store()
        except StoreError as error:
            self.unsaved[case] = str(error)
            return str(error)
        return ""

    def _run(self, *, is_complete: bool) -> Run:
        from pytest_ngraph.store import Run

        devices = {} if self.site.is_here else dict.fromkeys(case.device for case in self.records)
        return Run(
            id=self._recorder.run_id,
            environment=environment(),
            environments={device: self.site.host(device).environment for device in devices},
            records=tuple(self.records.values()),
            planned=frozenset(self._plan.ids),
            whole=is_complete or not self.unmeasured,
        )
