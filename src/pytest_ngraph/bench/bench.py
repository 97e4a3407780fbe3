"""Measure groups of cases: cases in, records out."""

from __future__ import annotations

import dataclasses
import shutil
import uuid
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from pathlib import Path

from pytest_ngraph import compilers
from pytest_ngraph.artifact import Artifact, Target
from pytest_ngraph.bench.ahead import Ahead, CompilingAhead
from pytest_ngraph.bench.asked import NOTHING, Asked
from pytest_ngraph.bench.beside_base.base import Base
from pytest_ngraph.bench.beside_base.base_builds import BaseBuilds
from pytest_ngraph.bench.beside_base.base_sides import BaseSide, BaseSides
from pytest_ngraph.bench.beside_base.draws import DrawingLaunches
from pytest_ngraph.bench.beside_base.further_launches import FurtherLaunches
from pytest_ngraph.bench.beside_base.pair import Pair
from pytest_ngraph.bench.beside_base.paired import PairedArm
from pytest_ngraph.bench.beside_base.paired_apart import ApartArm
from pytest_ngraph.bench.processes.exporting import export
from pytest_ngraph.bench.processes.free_cores import FreeCores
from pytest_ngraph.bench.processes.home import OWN_HOME, Home
from pytest_ngraph.bench.processes.lock import exclusive
from pytest_ngraph.bench.processes.process import WorkerFailed, WorkerProcess
from pytest_ngraph.bench.processes.scratch import Scratch
from pytest_ngraph.bench.processes.workers import EXPORTER, Workers
from pytest_ngraph.bench.progress import Progress, Silent
from pytest_ngraph.bench.rounds.arm import Arm
from pytest_ngraph.bench.rounds.goal import NOTHING_KNOWN, Knowledge, goal_of
from pytest_ngraph.bench.rounds.group import interleave
from pytest_ngraph.bench.rounds.headroom import Headroom
from pytest_ngraph.bench.rounds.keeping import keep_profile
from pytest_ngraph.bench.rounds.leaders import leading
from pytest_ngraph.bench.rounds.load import put_under_load
from pytest_ngraph.bench.rounds.preparer import Preparer
from pytest_ngraph.bench.rounds.serving import ServingCosts
from pytest_ngraph.bench.rounds.tails import time_calls
from pytest_ngraph.case import Case
from pytest_ngraph.comparison import HEAD, Comparison
from pytest_ngraph.errors import Unsupported
from pytest_ngraph.machine import provenance
from pytest_ngraph.record import Contention, Failure, Record
from pytest_ngraph.settings import Settings
from pytest_ngraph.system.support import require_measurable


class Bench:
    """Owns worker processes, one per compiler and target, and keeps them from one group to the next.

    Args:
        target: returns what a case is compiled for.
        progress: is notified as cases are measured.
        base: what cases are compared with; None to compare with nothing.
        home: where workers run.
        asked: cases for which more than rounds is measured.
        knowledge: what the goal of the settings decides by.
        ahead: what is compiled ahead, before the first group is measured; None to compile each group by itself.
        forks: as in `Workers`; always so beside a base.

    Raises:
        UsageError: this system or interpreter cannot measure.
    """

    def __init__(
        self,
        settings: Settings,
        target: Callable[[Case], Target],
        progress: Progress | None = None,
        base: Base | None = None,
        home: Home = OWN_HOME,
        asked: Asked = NOTHING,
        knowledge: Knowledge = NOTHING_KNOWN,
        ahead: Ahead | None = None,
        *,
        forks: bool = False,
    ) -> None:
        require_measurable()
        self._scratch = Scratch()
        self._folder = self._scratch.folder
        if base is not None and settings.cache is None:  # or every launch after the first would compile again
            settings = dataclasses.replace(settings, cache=self._folder / "compiled")
        self._settings = settings
        self._target = target
        self._progress = progress or Silent()
        self._base = base
        self._asked = asked
        self._knowledge = knowledge
        self._home = dataclasses.replace(home, own_path=base.own_path) if base else home
        self._ahead = ahead
        self._exported: dict[Case, Artifact] = dict(base.exported) if base else {}
        self._workers = Workers(self._folder, settings.memory_bytes, self._home, forks=forks or base is not None)
        self._free_cores = FreeCores()
        self._drawing = DrawingLaunches(settings, self._folder / "draws")
        self._preparer = Preparer(workers=self._workers, settings=settings, progress=self._progress)
        further = self._preparer, target, self._drawing, self._costs_of(asked.served), asked
        self._launches = FurtherLaunches(base, *further) if base else None

    def run(self, cases: Sequence[Case]) -> Iterator[Record]:
        """Measure the cases of one group and yield each record as soon as it is complete."""
        with exclusive(self._progress.waiting):
            self._compile_ahead()
            exported = self._exported.pop(cases[0].group, None)
            folder = exported.folder if exported else self._folder / "group"
            base_sides = self._base_sides(folder)
            try:
                artifact = exported or self._export(cases, folder, base_sides)
            except Unsupported as reason:
                yield from self._skipped(cases, str(reason), base_sides)
            except (WorkerFailed, OSError) as error:
                failure = error.failure if isinstance(error, WorkerFailed) else _no_folder(error)
                yield from (Record.failed(case, failure) for case in cases)
            else:
                for record in self._measure(list(cases), artifact, base_sides):
                    yield self._traced(record, artifact)
            finally:
                if base_sides is not None:
                    base_sides.close()
                self._workers.discard_dead()
                shutil.rmtree(folder, ignore_errors=True)

    def adopt(self, settings: Settings) -> None:
        """Measure what comes next with these settings. The cache and the isolation stay what they are."""
        kept = self._settings
        self._settings = dataclasses.replace(settings, cache=kept.cache, isolation=kept.isolation)

    def close(self) -> None:
        """End every worker and remove what workers left behind."""
        self._workers.close()
        self._scratch.close()

    def _compile_ahead(self) -> None:
        ahead, self._ahead = self._ahead, None
        if ahead is None:
            return
        memory_bytes = self._settings.memory_bytes
        workers = Workers(self._folder, memory_bytes and memory_bytes // ahead.lanes, self._home)
        compiling = CompilingAhead(ahead, self._settings, workers, self._target, self._folder / "ahead", self._progress)
        compiling.run()
        self._exported = compiling.exported

    def _export(self, cases: Sequence[Case], folder: Path, base_sides: BaseSides | None) -> Artifact:
        case = cases[0]
        (own := folder / "head").mkdir(parents=True)
        exporter = self._workers.resident(EXPORTER, self._target(case.group))
        if base_sides is not None:
            base_sides.build_ahead(case)
        if self._base is None:  # else it is not known yet which of them will be needed
            self._workers.start_ahead((each.compiler, self._target(each)) for each in cases)
        artifact = export(
            exporter,
            case.group,
            own,
            self._settings.timeout_s,
            on_phase=lambda phase: self._progress.phase(case, phase),
        )
        self._workers.settle(self._settings.timeout_s)
        return artifact

    def _measure(self, cases: list[Case], artifact: Artifact, base_sides: BaseSides | None) -> Iterator[Record]:
        waiting: list[tuple[Case, Comparison | None, BaseSide | None]] = []
        for case in cases:
            comparison, base_side = base_sides.of(case, artifact) if base_sides else (None, None)
            if self._base and comparison and comparison.same and not self._base.measures_unchanged(case):
                yield Record.unchanged(case, comparison, artifact.model)
            else:
                waiting.append((case, comparison, base_side))
        self._workers.start_ahead((case.compiler, self._target(case)) for case, *_ in waiting)
        self._workers.settle(self._settings.timeout_s)
        while waiting:
            arms: list[Arm] = []
            room = Headroom()
            while waiting and room.is_left(arms[-1].device_memory if arms else None):
                arms.append(self._prepared(*waiting.pop(0), artifact))
            names = tuple(arm.case.compiler for arm in arms if arm.can_run)
            is_whole = len(arms) >= self._knowledge.groups.get(arms[0].case.group, len(cases))
            goal = goal_of(self._settings, self._knowledge) if is_whole else None  # a part cannot answer its question
            contention = interleave(arms, self._settings, self._progress, goal=goal)
            if not self._settings.smoke:
                time_calls(arms, leading(arms, self._asked.calls, self._settings.leaders), self._settings)
                put_under_load(arms, self._settings, self._progress)
            cycles = uuid.uuid4().hex
            paired = [arm for arm in arms if isinstance(arm, PairedArm)]
            records = [arm.finish(contention, names, cycles) for arm in paired]
            costs = self._costs_of(leading(arms, self._asked.served, self._settings.leaders))
            for arm in arms:
                if not arm.is_compared:
                    if not self._settings.smoke:
                        keep_profile(arm, self._asked.profiled, self._progress)
                    yield costs.finished(arm, contention, names, cycles)
            yield from map(self._compared, records, paired)
            if self._settings.isolation == "case":
                self._workers.discard_compilers()
            self._workers.discard_swollen()

    def _costs_of(self, served: Collection[Case]) -> ServingCosts:
        """Return what measures what serving these cases costs."""
        return ServingCosts(served, self._folder, self._settings, self._progress)

    def _skipped(self, cases: Sequence[Case], reason: str, base_sides: BaseSides | None) -> Iterator[Record]:
        """Yield the records of cases whose workload cannot be built here, and whether the base can run them."""
        for case in cases:
            record = Record.skipped(case, reason)
            if base_sides is not None:
                prepare = partial(self._base_alone, case)
                record = dataclasses.replace(record, comparison=base_sides.beside_nothing(case, reason, prepare))
            yield record

    def _base_alone(self, case: Case, base_side: BaseSide) -> Record:
        """Return the record of the base, prepared by itself and not measured."""
        target = self._target(case).for_case(base_side.case)
        with self._workers.fresh(target, self._base_home) as worker:
            arm = Arm(base_side.case, base_side.artifact, target, self._settings, lambda: worker)
            self._preparer.prepare(arm)
            return arm.prepared

    def _traced(self, record: Record, artifact: Artifact) -> Record:
        """Return the record with its provenance."""
        follows_from = provenance.of_measuring(
            record.case,
            self._target(record.case),
            self._settings,
            graph=artifact.digest,
            files=artifact.own_files | record.follows_from.get("files", {}),
            against=self._base.identity if self._base else "",
            failure=record.failure,
            tails_s=self._settings.tails_s if record.calls else 0.0,
        )
        return dataclasses.replace(record, follows_from=follows_from)

    @property
    def _base_home(self) -> Home | None:
        return self._base.home if self._base else None

    def _base_sides(self, folder: Path) -> BaseSides | None:
        if (base := self._base) is None:
            return None
        place = base.home, self._workers, self._target, self._settings.timeout_s, folder
        return BaseSides(base, BaseBuilds(*place, base.instead_of, base.at_base))

    def _prepared(
        self, case: Case, comparison: Comparison | None, base_side: BaseSide | None, artifact: Artifact
    ) -> Arm:
        """Return the case's arm, prepared: paired with its base if it has one and both run together."""
        target = self._target(case)

        def worker(arm: str = HEAD) -> WorkerProcess:
            if arm == HEAD:
                return self._workers.resident(case.compiler, target)
            return self._workers.resident(f"{case.compiler} of the base", target, self._base_home)

        if comparison and base_side:
            kind = PairedArm if comparison.placement == "together" else ApartArm
            comparison = dataclasses.replace(comparison, searched=compilers.searches(case.compiler))
            # Equal arms would both be loaded from the cache, as one and the same draw.
            is_equal = self._base is not None and self._base.measures_equals
            settings, draws = self._drawing.launch(draws=comparison.searched and is_equal)
            pair = Pair(case=case, artifact=artifact, target=target, base_side=base_side, comparison=comparison)
            paired = kind(pair, settings, worker, self._free_cores, draws)
            self._preparer.prepare(paired)
            if not paired.problem:
                self._score(paired)
                return paired
            paired.finish(Contention(), ())
            arm = paired.single()
        else:
            arm = Arm(case, artifact, target, self._settings, worker, comparison)
        self._preparer.prepare(arm)
        self._score(arm)
        return arm

    def _score(self, arm: Arm) -> None:
        """Have the arm scored, if its case asks for it. The exporter does it, which has the user's modules."""
        if arm.case.scored_by and arm.can_run:
            exporter = partial(self._workers.resident, EXPORTER, self._target(arm.case.group))
            arm.score(exporter, self._folder / "outputs.npz")

    def _compared(self, record: Record, arm: PairedArm) -> Record:
        """Return the record with the further launches that its comparison needs.

        If the first launch broke off, return the record of the head measured alone.
        """
        assert self._launches is not None
        if arm.problem:
            return dataclasses.replace(self._launches.single(arm), score=record.score)
        if record.outcome != "measured":  # compiling it again would take as long and fail again
            return record
        return self._launches.confirmed(record, arm)


def _no_folder(error: OSError) -> Failure:
    """Return the failure of every case of a group whose folder cannot be written to."""
    message = f"cannot write to the temporary folder: {error}. Free space there, or set TMPDIR to another folder."
    return Failure(phase="build", kind="raised", message=message)
