"""Where a race measures: the ordinary bench of this machine. Each record goes to a run of the store as it comes."""

from __future__ import annotations

import dataclasses
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from pytest_ngraph.advise.limits import Limits
from pytest_ngraph.advise.race import FIRST_S
from pytest_ngraph.artifact import Target
from pytest_ngraph.bench.asked import Asked
from pytest_ngraph.bench.bench import Bench
from pytest_ngraph.bench.conditions import Conditions
from pytest_ngraph.bench.progress import JournaledProgress, Progress
from pytest_ngraph.bench.rounds.goal import Knowledge
from pytest_ngraph.case import Case
from pytest_ngraph.clock import Clock
from pytest_ngraph.machine.devices import Device
from pytest_ngraph.machine.host import THIS_MACHINE
from pytest_ngraph.machine.machine import environment
from pytest_ngraph.machine.standing import staleness, would_follow_from
from pytest_ngraph.metrics.between import Between
from pytest_ngraph.metrics.percentiles import PERCENTILES, SPARE, fewest_calls
from pytest_ngraph.record import Phase, Record
from pytest_ngraph.serving.launches import LAUNCHES
from pytest_ngraph.session.options import ResumeOptions
from pytest_ngraph.session.resume import open_run
from pytest_ngraph.settings import Goal, Settings
from pytest_ngraph.store import Journal, Step, read

TAILS_SHARE = 1 / 3
"""The share of the time left that single calls of all cases may take."""
FEWEST_TAILS_S = 1.0
FEWEST_CALLS = fewest_calls(PERCENTILES["p99_s"])
"""Fewest single calls that show a p99."""
SHOWN = 2
"""Candidates whose costs to serve and single calls are measured even if no limit asks for them, because the answer
shows these: the pick and the next one."""
SHOWN_LAUNCHES = 1
"""Launches that show these costs: a figure without an interval."""
SCREENING_ROUNDS = 6
"""Fewest rounds in the shortest rung, which only finds what is much slower: the fewest with a 95 % interval."""
SCREENING_PRECISION = 0.05
"""The precision target in it."""
SCREENING_WARMUP_S = 0.25
"""Most seconds of warming up in it: a first call, and windows in which what compiles at the second call does so."""
RACING_ROUNDS = 8
"""Fewest rounds in the other rungs: where a call takes long, these take most of a rung's seconds."""
LOOKS = 4
"""A rung's rounds are so short that its fewest take this part of its seconds at most, and what is sure by then ends."""
SAME_S = 1.0
"""When a resumed race repeats a step, the time that is left differs by less than this."""


class Waits(JournaledProgress):
    """Also knows for how many seconds the bench has waited: from when it says so until a case enters a phase."""

    def __init__(self, progress: Progress, note: Callable[[Case, Phase], None], clock: Clock = time.monotonic) -> None:
        super().__init__(progress, note)
        self._clock = clock
        self._over_s = 0.0
        self._since: float | None = None
        self._show = progress.waiting
        self.waiting = self._waiting

    @property
    def seconds(self) -> float:
        """All waits so far, with one that goes on."""
        return self._over_s + (0.0 if self._since is None else self._clock() - self._since)

    def phase(self, case: Case, phase: Phase) -> None:
        self._over_s, self._since = self.seconds, None
        super().phase(case, phase)

    def _waiting(self, reason: str) -> None:
        self._since = self._clock() if self._since is None else self._since
        self._show(reason)


class Measuring:
    """Measures groups of cases and keeps their records.

    Args:
        bench: what measures, with `asked` as what it is asked for.
        asked: cases whose single calls and costs are measured; changed from rung to rung.
        settings: those of the run, whose budget and limits each rung sets.
        target: returns what a case is compiled for.
        journal: where records go.
        steps: what earlier sessions of this run measured, step by step. Where the race asks for the same again, it gets
            the same, and the time goes on from there, so that it decides as if it had not been interrupted.
        waits: knows how long the bench has waited for other sessions, which the race does not take.
        limits: decide for how many candidates more than rounds is measured, and how precisely.
    """

    def __init__(
        self,
        bench: Bench,
        asked: set[Case],
        settings: Settings,
        target: Callable[[Case], Target],
        journal: Journal,
        steps: Sequence[Step] = (),
        waits: Waits | None = None,
        clock: Clock = time.monotonic,
        limits: Limits | None = None,
    ) -> None:
        self._limits = limits or Limits()
        self._bench = bench
        self._asked = asked
        self._settings = settings
        self._target = target
        self._journal = journal
        self._latest: dict[Case, Record] = {}
        self._steps = deque(steps)
        self._waits = waits
        self._clock = clock
        self._began_at = clock()

    @property
    def run_id(self) -> str:
        """The id of the run that has the records."""
        return self._journal.id

    def elapsed_s(self) -> float:
        """Return the seconds that the race has taken, those of earlier sessions included."""
        waited_s = self._waits.seconds if self._waits else 0.0
        return self._clock() - self._began_at - waited_s

    def __call__(self, cases: Sequence[Case], budget_s: float, left_s: float, wanted: Sequence[Case]) -> list[Record]:
        """Measure cases of one group in turn, all of them or, where an earlier session did so, none."""
        rung = self._settings_of(budget_s, left_s, wanted)
        self._bench.adopt(rung)
        self._asked.clear()
        self._asked.update(wanted)
        if (earlier := self._replayed(cases, rung)) is not None:
            return earlier
        records = [self._take(self._journal.own(each)) for each in self._bench.run(cases)]
        self._journal.end_step(self.elapsed_s())
        return records

    def _settings_of(self, budget_s: float, left_s: float, wanted: Sequence[Case]) -> Settings:
        """Return the settings of a rung. All that is wanted is measured well only where a limit needs it."""
        held = self._limits.ask_costs or self._limits.p99_s is not None
        is_screening = budget_s <= FIRST_S
        goal: Goal = "rank" if wanted and held else "best"
        min_rounds = self._settings.min_rounds
        if is_screening or goal == "best":
            min_rounds = min(min_rounds, SCREENING_ROUNDS if is_screening else RACING_ROUNDS)
        rung = dataclasses.replace(
            self._settings,
            budget_s=budget_s,
            needs_compile_s=is_screening,  # from compilers as they are follows what their options may take
            times_compiling=is_screening,
            min_rounds=min_rounds,
            round_s=min(self._settings.round_s, budget_s / (LOOKS * min_rounds)),
            goal=goal,
            is_race=True,
            timeout_s=min(self._settings.timeout_s, left_s),
            tails_s=FEWEST_TAILS_S if self._limits.p99_s is None else self._tails_s(wanted, left_s),
            leaders=None if held else SHOWN,
            serving_launches=None if self._limits.ask_costs else SHOWN_LAUNCHES,
        )
        if not is_screening:
            return rung
        warmup_s = min(SCREENING_WARMUP_S, rung.warmup_s)
        return dataclasses.replace(rung, goal="precision", precision_target=SCREENING_PRECISION, warmup_s=warmup_s)

    def _replayed(self, cases: Sequence[Case], rung: Settings) -> list[Record] | None:
        """Return what an earlier session measured at this step, if that is what is asked for and stands; else None.

        Any other step is measured again as a whole, so that its cases are compared in the same minutes. The steps
        before the one that is asked for are left out: a later session decided differently after them.
        """
        while self._steps:
            elapsed_s, records = self._steps.popleft()
            found = {record.case: record for record in records}
            late = {case: self._latest[case] for case in cases if case not in found and case in self._latest}
            stands = all(self._stands(case, found[case], rung) for case in cases if case in found)
            if stands and set(cases) == {*found, *late}:
                self._latest |= found
                self._began_at -= max(0.0, elapsed_s - self.elapsed_s())
                return [(found | late)[case] for case in cases]
        return None

    def _take(self, record: Record) -> Record:
        """Store a record and return it. One that the race had no time for leaves an earlier measurement as it is."""
        before = self._latest.get(record.case)
        is_late = record.failure is not None and record.failure.kind == "timed out"
        if is_late and before is not None and before.outcome == "measured":
            return before
        self._journal.append(record)
        self._latest[record.case] = record
        return record

    def _tails_s(self, wanted: Sequence[Case], left_s: float) -> float:
        """Return in how many seconds each of these cases shows a p99, or how many there are for it."""
        slowest = max((self._latest[case].latency_s for case in wanted if case in self._latest), default=0.0)
        most = TAILS_SHARE * left_s / max(1, len(wanted))
        return max(FEWEST_TAILS_S, min(most, SPARE * FEWEST_CALLS * slowest))

    def _stands(self, case: Case, record: Record, rung: Settings) -> bool:
        """Return whether a record was given as much time as this rung gives, and nothing has changed since."""
        before: dict[str, Any] = record.follows_from.get("settings", {})
        is_short = before.get("budget_s", 0.0) < rung.budget_s
        if record.failure is not None and record.failure.kind == "timed out":
            is_short |= before.get("timeout_s", 0.0) < rung.timeout_s - SAME_S
        is_held = self._limits.p99_s is not None and case in self._asked
        if is_held and record.has_single_calls and len(record.calls) < FEWEST_CALLS:
            is_short |= record.follows_from.get("tails_s", 0.0) < rung.tails_s - SAME_S
        is_less = record.lacks_score(case) or self._lacks_costs(case, record)
        return not (is_short or is_less or staleness(record, self._would_follow_from))

    def _lacks_costs(self, case: Case, record: Record) -> bool:
        """Return whether a limit asks for more about what serving a case costs than its record has."""
        if case not in self._asked or not self._limits.ask_costs:
            return False
        costs = record.serving
        is_only_shown = costs is not None and not costs.problem and len(costs.launches) < LAUNCHES
        return record.lacks_costs or is_only_shown

    def _would_follow_from(self, record: Record) -> dict[str, Any]:
        """Return what a record would follow from now, if it were measured for as long as it was."""
        before = record.follows_from
        return would_follow_from(
            record,
            self._target(record.case),
            dataclasses.replace(self._settings, **before["settings"]),
            against="",
            host=THIS_MACHINE,
            tails_s=before.get("tails_s", 0.0),
        )


@contextmanager
def measuring(
    store: Path,
    settings: Settings,
    devices: Sequence[Device],
    between: Between,
    progress: Progress,
    workload: str,
    resumed: str = "",
    limits: Limits | None = None,
) -> Iterator[Measuring]:
    """Open a bench and a run of the store, and close both at the end. The run is whole if nothing was raised.

    Args:
        settings: those of the run.
        devices: the devices of the cases.
        between: how much processes of the same code differ.
        workload: what the race is about.
        resumed: the race to resume, or `latest` for the newest unfinished one; empty for a new one.
        limits: as in `Measuring`.

    Raises:
        UsageError: there is no such run, or it is no race of this workload.
        StoreError: another process writes to it.
    """
    earlier = open_run(store, ResumeOptions(run=resumed), workload) if resumed else None
    run = read(store, earlier.run.id) if earlier else None
    journal = earlier.journal if earlier else Journal(store, environment(), race=workload)
    if earlier:
        journal.describe(environment(), tuple)
    profiles = {device.name: device for device in devices}
    conditions = Conditions(common=settings, profiles=profiles, machine=THIS_MACHINE.machine)
    asked: set[Case] = set()
    bench = Bench(
        conditions.settings,
        conditions.target,
        waits := Waits(progress, journal.enter),
        asked=Asked(calls=asked, served=asked),
        knowledge=Knowledge(between=between),
        forks=True,
    )
    with closing(journal), closing(bench):
        steps = run.steps if run else ()
        yield Measuring(bench, asked, conditions.settings, conditions.target, journal, steps, waits, limits=limits)
        journal.end(whole=True)
