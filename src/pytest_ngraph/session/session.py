"""A session: the cases that its tests ask for, the records they yield, and what follows from them at the end."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from pytest_ngraph.bench.local_site import LocalSite
from pytest_ngraph.bench.progress import Progress
from pytest_ngraph.bench.site import Measurer, Site
from pytest_ngraph.case import Case
from pytest_ngraph.clock import Clock
from pytest_ngraph.errors import DeviceAway, NgraphError, StoreError
from pytest_ngraph.machine.machine import environment, this_machine
from pytest_ngraph.session.judging import Judgement
from pytest_ngraph.session.options import Options
from pytest_ngraph.session.plan import Plan
from pytest_ngraph.session.recording import Recorder
from pytest_ngraph.session.results import ExtraMetrics

if TYPE_CHECKING:
    from pytest_ngraph.against.live import LiveBase
    from pytest_ngraph.against.stored import StoredBase
    from pytest_ngraph.bench.base import Base
    from pytest_ngraph.record import Record
    from pytest_ngraph.session.resume import ResumedRun
    from pytest_ngraph.store import Run


class Session:
    """Measures groups of cases when the first test of a group asks, and remembers every record.

    on_record: called with each record once it is stored. extra_metrics: the users' own metrics for some records.
    against: what is measured beside the cases, to compare them with; None for nothing. baselines: what is stored.
    resumed: the run that this session goes on with; None for a new one. site: where it measures.
    is_cut_short: whether cases were left out because the time was up or a device gone. saved: what became of the run as
    a stored baseline, in a sentence; empty where it was to be none. problems: what fails the session besides its cases
    and thresholds. told: the standard errors that stand in a failure, by the case whose it is: one that several cases
    share is told once.
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
    ) -> None:
        self.options = options
        self.against = against
        self.baselines = baselines
        self.resumed = resumed
        self.site = site or LocalSite()
        self.judging = Judgement(options, [*baselines, *([against] if against else [])], extra_metrics)
        self.saved = ""
        self.problems: list[str] = []
        self.told: dict[str, Case] = {}
        self._is_whole = False
        self._progress = progress
        self._on_record = on_record
        self._expected = Plan()
        self._bench: Measurer | None = None
        self._unusable: NgraphError | None = None
        self._recording = Recorder(options.store, resumed, lambda: self._expected.ids)
        self._clock = clock
        self._started_s = clock()
        self.is_cut_short = False

    def expect(self, case: Case, nodeid: str) -> None:
        """A test will ask for this case: it is measured together with the others of its group."""
        if case not in self._expected:
            self._expected.add(case, nodeid)
            if self.resumed is None or not self.resumed.stands(
                case, self._would_follow_from, alone=case in self.judging.alone
            ):
                self._progress.planned(case)

    def expects(self, case: Case) -> bool:
        """Whether a test will ask for this case."""
        return case in self._expected

    def check_store(self) -> None:
        """Raise `StoreError` when the records of this session could not be stored."""
        self._recording.check()

    @property
    def records(self) -> dict[Case, Record]:
        """What was measured by now, by case."""
        return self.judging.records

    @property
    def run_id(self) -> str:
        """The id under which the store has this session; empty when nothing was recorded."""
        return self._recording.run_id

    @property
    def run(self) -> Run:
        """All records by now."""
        from pytest_ngraph.store import Run

        devices = {} if self.site.is_here else dict.fromkeys(case.device for case in self.records)
        return Run(
            id=self.run_id,
            environment=environment(),
            environments={device: self.site.host(device).environment for device in devices},
            records=tuple(self.records.values()),
        )

    @property
    def unsaved(self) -> dict[Case, str]:
        """Cases that the store does not have, and why."""
        return self._recording.unsaved

    def record_of(self, case: Case) -> Record:
        """The case's record; its whole group is measured when the first of it is asked for.

        One that is not measured, because the store cannot be written, the time is up or its device is gone, is skipped
        and not stored.
        """
        from pytest_ngraph.record import Record

        group = self._expected.beside(case)
        if case not in self.records:
            self._take_over(group)
        if case not in self.records and (obstacle := self._obstacle(case)):
            return Record.skipped(case, obstacle)
        if case not in self.records:
            try:
                self._measure([each for each in group if each not in self.records])
            except DeviceAway as reason:
                self.is_cut_short = True
                return Record.skipped(case, str(reason))
        return self.records[case]

    def _measure(self, cases: Sequence[Case]) -> None:
        for record in self._open_bench().run(cases):
            self._progress.finished(record.case)
            self.add(self._asked_for(record))

    def add(self, record: Record) -> None:
        """Store a record and tell of it. When the store fails, the record is kept here and the case is unsaved."""
        if self.options.settings.smoke:
            self.records[record.case] = record
            return
        self._enter(self._recording.keep(record))

    def conclude(self, *, whole: bool) -> list[str]:
        """Find out what follows from all records, and note in the store whether the session went to its end. Returns
        what no test has failed for."""
        if self.against is not None:
            self.against.is_whole = whole
        problems = self.judging.conclude()
        self._is_whole = self._recording.end(whole=whole)
        if self.judging.conclusion is not None:
            self.problems += self.judging.conclusion.mistakes
        return problems

    def _enter(self, record: Record) -> None:
        self.judging.enter(record)
        self._on_record(record)

    def _take_over(self, group: Iterable[Case]) -> None:
        """Enter what an earlier session of this run has of a group."""
        if self.resumed is None:
            return
        self._recording.open()
        if self.against is not None:
            self._open_bench()  # the base says how many comparisons share the chance of a false alarm
        for case in group:
            record = self.resumed.kept.get(case)
            if record is not None and case not in self.records:
                if record.run:
                    self._enter(record)
                else:
                    self.add(self._asked_for(record))

    def _asked_for(self, record: Record) -> Record:
        """The record with the test that asked for it."""
        return dataclasses.replace(record, nodeid=self._expected.nodeid(record.case))

    def _obstacle(self, case: Case) -> str:
        """Why a group is not measured any more; empty when it is."""
        if self.options.settings.smoke:
            return ""
        limit_s = self.options.resume.max_seconds
        if limit_s is not None and self._clock() - self._started_s >= limit_s:
            self.is_cut_short = True
            return f"the {limit_s:g} s of --ngraph-max-seconds are over; --ngraph-resume goes on"
        try:
            self.check_store()
        except StoreError as error:
            self.unsaved[case] = str(error)
            return str(error)
        return ""

    def save(self) -> None:
        """Keep this run as the stored baseline that the options name, if it is whole. `saved` tells what became of
        that. Raises `StoreError`."""
        name = self.options.gate.save
        conclusion = self.judging.conclusion
        if not name or not self.run_id or conclusion is None:
            return
        if not self._is_whole:
            self.saved = f"Not saved as baseline {name}: the run was cut short, or a part of it could not be stored."
            return
        from pytest_ngraph.against.stored import save

        self.saved = save(self.options.store, name, self.run_id, regressed=conclusion.has_regressed)

    @property
    def unmeasured(self) -> list[Case]:
        """Cases that a test would have asked for, had the session not ended before."""
        return [case for case in self._expected if case not in self.records]

    def close(self) -> None:
        """End the workers and the journal."""
        if self._bench is not None:
            self._bench.close()
        self.site.close()
        self._recording.close()
        if self.against is not None:
            self.against.close()

    def _open_bench(self) -> Measurer:
        """What measures. Raises the error that it could not be opened with, at every try."""
        if self._unusable is not None:
            raise self._unusable
        if self._bench is None:
            try:
                self._bench = self._opened_bench()
            except StoreError:  # there may be room later
                raise
            except NgraphError as error:
                self._unusable = error
                raise
        return self._bench

    def _opened_bench(self) -> Measurer:
        from pytest_ngraph.bench.work_order import WorkOrder

        base = self._base()
        work = WorkOrder(
            settings=self.options.settings,
            profiles=self.options.inventory,
            threads=self._threads,
            groups=[left for group in self._expected.groups if (left := self._to_measure(group))],
            base=base,
            rule=self.against.rule if self.against and base else None,
            progress=self._progress,
            run_id=lambda: self._recording.open().id,
            enter=self._recording.enter,
            describe_device=self._recording.describe_device,
        )
        return self.site.open(work)

    def _to_measure(self, group: Iterable[Case]) -> list[Case]:
        """The cases of a group that no session has measured."""
        kept = self.resumed.kept if self.resumed else {}
        return [case for case in group if case not in self.records and case not in kept]

    @property
    def _threads(self) -> int | None:
        """The most that a case computes with; None for all of its device's."""
        if self.against is None or self.options.settings.smoke:
            return None
        if not self.site.is_here:
            return self.options.gate.threads
        return self.against.threads(this_machine().cores, self.resumed.threads if self.resumed else None)

    def _would_follow_from(self, record: Record) -> dict[str, Any]:
        """What an earlier record would follow from if its case were measured now."""
        from pytest_ngraph.bench.conditions import Conditions
        from pytest_ngraph.session.resume import would_follow_from

        host = self.site.host(record.case.device)
        terms = Conditions(
            common=self.options.settings,
            profiles=self.options.inventory,
            machine=host.machine,
            threads=self._threads,
        )
        against = self.against.origin.identity if self.against else ""
        return would_follow_from(record, terms.target(record.case), terms.settings, against, host)

    def _base(self) -> Base | None:
        """What the cases that are expected are compared with."""
        if self.against is None or self.options.settings.smoke:
            return None
        heads = [(self._expected.nodeid(case), case) for case in self._expected]
        return self.against.open(heads, alone=self.judging.alone)
