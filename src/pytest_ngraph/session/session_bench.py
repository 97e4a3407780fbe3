"""The bench of a session: opened when the first group is measured, and given what is left to measure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pytest_ngraph.bench.progress import Progress
from pytest_ngraph.bench.site import Measurer, Site
from pytest_ngraph.case import Case
from pytest_ngraph.errors import NgraphError, StoreError
from pytest_ngraph.machine.machine import this_machine
from pytest_ngraph.session.options import Options
from pytest_ngraph.session.plan import Plan
from pytest_ngraph.session.recorder import Recorder
from pytest_ngraph.settings import Settings
from pytest_ngraph.wording import counted

if TYPE_CHECKING:
    from pytest_ngraph.against.live import LiveBase
    from pytest_ngraph.bench.asked import Asked
    from pytest_ngraph.bench.beside_base.base import Base
    from pytest_ngraph.bench.rounds.goal import Knowledge, Limit
    from pytest_ngraph.record import Record
    from pytest_ngraph.session.resume import ResumedRun


class SessionBench:
    """Measures groups of cases on a site, beside a base where the session has one.

    Args:
        options: options of the session.
        site: where cases are measured.
        plan: cases that the tests of the session ask for.
        recorder: where phases and devices are noted.
        progress: is notified of what is being measured.
        against: base that is measured beside the cases; None for none.
        resumed: run that this session resumes; None for a new one.
        is_over: whether the time of the session is over.
        limits: returns the limits on metrics that follow from rounds, by case, and how many comparisons share the
            chance of an error.

    Attributes:
        wanted: cases that are measured although they equal their base's, because a test reads a figure of theirs.
    """

    def __init__(
        self,
        options: Options,
        site: Site,
        plan: Plan,
        recorder: Recorder,
        progress: Progress,
        against: LiveBase | None,
        resumed: ResumedRun | None,
        is_over: Callable[[], bool],
        limits: Callable[[], tuple[Mapping[Case, Sequence[Limit]], int]],
    ) -> None:
        self.wanted: set[Case] = set()
        self._again: dict[Case, str] = {}
        self._noted: list[str] = []
        self._limits = limits
        self._is_over = is_over
        self._options = options
        self._site = site
        self._plan = plan
        self._recorder = recorder
        self._progress = progress
        self._against = against
        self._resumed = resumed
        self._measurer: Measurer | None = None
        self._unusable: NgraphError | None = None

    def run(self, cases: Sequence[Case], measured: Collection[Case], asked: Asked) -> Iterator[Record]:
        """Measure the cases of one group: a record for each, as soon as it is complete.

        Args:
            cases: cases of one group that have no record yet.
            measured: cases of the session that have a record.
            asked: what has to be measured besides rounds.

        Raises:
            DeviceAway: the device has left the cluster.
            NgraphError: the bench cannot be opened.
        """
        return self.open(measured, asked).run(cases)

    def open(self, measured: Collection[Case], asked: Asked) -> Measurer:
        """Open the bench, the base included. An error that it could not be opened with is raised at every call."""
        if self._unusable is not None:
            raise self._unusable
        if self._measurer is None:
            try:
                self._measurer = self._open(measured, asked)
            except StoreError:  # there may be room on the disk later
                raise
            except NgraphError as error:
                self._unusable = error
                raise
        return self._measurer

    @property
    def notes(self) -> Iterator[str]:
        """What the site noted, and which cases devices measured again although they had records: sentences."""
        yield from self._noted
        for (device, reason), count in Counter((case.device, why) for case, why in self._again.items()).items():
            yield f"{counted(count, 'case')} measured again on device {device}: {reason}."

    def would_follow_from(self, record: Record, asked: Asked) -> dict[str, Any]:
        """Return what an earlier record would follow from if its case were measured now."""
        from pytest_ngraph.bench.conditions import Conditions

        host = self._site.host(record.case.device)
        conditions = Conditions(
            common=self._options.settings,
            profiles=self._options.inventory,
            machine=host.machine,
            threads=self._threads,
        )
        against = self._against.origin.identity if self._against else ""
        return conditions.would_follow_from(record, asked, against, host)

    def close(self) -> None:
        """End every process, and remove the base."""
        if self._measurer is not None:
            self._measurer.close()
        self._site.close()
        if self._against is not None:
            self._against.close()

    def _open(self, measured: Collection[Case], asked: Asked) -> Measurer:
        from pytest_ngraph.bench.work_order import WorkOrder

        base = self._base(asked)
        obstacle = self._why_not_ahead(asked) if self._options.precompile else ""
        if obstacle:
            self._noted.append(f"Nothing was compiled ahead: {obstacle}.")
        work = WorkOrder(
            settings=self._settings(asked),
            profiles=self._options.inventory,
            threads=self._threads,
            groups=[left for group in self._plan.groups if (left := self._to_measure(group, measured))],
            base=base,
            rule=self._against.rule if self._against and base else None,
            asked=asked,
            knowledge=self._knowledge(),
            retries=self._options.resume.retries,
            retry_failed=self._options.resume.retry_failed,
            measured_again=self._again.__setitem__,
            note=self._noted.append,
            lanes=0 if obstacle else self._options.precompile,
            is_over=self._is_over,
            progress=self._progress,
            run_id=lambda: self._recorder.open().id,
            enter=self._recorder.enter,
            describe_device=self._recorder.describe_device,
        )
        return self._site.open(work)

    def _why_not_ahead(self, asked: Asked) -> str:
        """Return why no case is compiled before its group is measured; empty where all can be."""
        if asked.compile_s:
            return "a threshold needs the seconds to compile, which are true only where nothing else compiles"
        if self._options.settings.cache is None:
            return "there is no folder for what is compiled"
        if self._against is not None:
            return "beside a base, what has to be compiled is known only once it is built"
        if not self._site.is_here:
            return "devices of a cluster compile a case when they measure it"
        if self._resumed is not None:
            return "a resumed run compiles each case by itself, to know it if compiling ends the run again"
        return ""

    def _settings(self, asked: Asked) -> Settings:
        return replace(self._options.settings, needs_compile_s=bool(asked.compile_s) or not self._options.precompile)

    def _knowledge(self) -> Knowledge:
        """Return what the goal of the run decides by. With the goal precision, nothing is read for it."""
        from pytest_ngraph.bench.rounds.goal import NOTHING_KNOWN, Knowledge

        if self._options.settings.goal == "precision":
            return NOTHING_KNOWN
        groups = {group[0].group: len(group) for group in self._plan.groups}
        if not self._site.is_here:
            return Knowledge(groups=groups)
        from pytest_ngraph.against.processes import known_of

        limits, family = self._limits()
        between = known_of({this_machine().fingerprint}, self._options.store)
        return Knowledge(between=between, limits=limits, family=family, groups=groups)

    def _to_measure(self, group: Iterable[Case], measured: Collection[Case]) -> list[Case]:
        """Return the cases of a group that no session has measured."""
        kept = self._resumed.kept if self._resumed else {}
        return [case for case in group if case not in measured and case not in kept]

    @property
    def _threads(self) -> int | None:
        """The most threads that a case computes with; None for all of its device's."""
        if self._against is None or self._options.settings.smoke:
            return None
        if not self._site.is_here:
            return self._options.gate.threads
        return self._against.threads(this_machine().cores, self._resumed.threads if self._resumed else None)

    def _base(self, asked: Asked) -> Base | None:
        """Return what the planned cases are compared with."""
        if self._against is None or self._options.settings.smoke:
            return None
        heads = [(self._plan.nodeid(case), case) for case in self._plan]
        return self._against.open(heads, lambda case: case in asked.figures or case in self.wanted)
