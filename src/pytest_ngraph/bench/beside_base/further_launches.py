"""Launches in fresh processes, after the first, of a head and its base."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from pytest_ngraph.artifact import Target
from pytest_ngraph.bench.asked import Asked
from pytest_ngraph.bench.beside_base.alone_launches import launch_alone
from pytest_ngraph.bench.beside_base.base import Base
from pytest_ngraph.bench.beside_base.draws import DrawingLaunches
from pytest_ngraph.bench.beside_base.paired import PairedArm
from pytest_ngraph.bench.beside_base.paired_apart import ApartArm
from pytest_ngraph.bench.processes.home import OWN_HOME, Home
from pytest_ngraph.bench.processes.process import WorkerFailed, WorkerProcess, in_one_line
from pytest_ngraph.bench.rounds.arm import Arm
from pytest_ngraph.bench.rounds.group import interleave
from pytest_ngraph.bench.rounds.keeping import keep_profile
from pytest_ngraph.bench.rounds.preparer import Preparer
from pytest_ngraph.bench.rounds.serving import Deployment, ServingCosts
from pytest_ngraph.bench.rounds.tails import compare_calls, launch_calls
from pytest_ngraph.case import Case
from pytest_ngraph.comparison import BASE, HEAD, CallLaunch, Comparison, Launch
from pytest_ngraph.costs import Costs
from pytest_ngraph.errors import Unsupported
from pytest_ngraph.explain.explanation import explain
from pytest_ngraph.explain.kept import KeptProfile
from pytest_ngraph.record import Contention, Record
from pytest_ngraph.settings import Settings

OUT_OF_MEMORY = "out of memory"
"""How a head may fail beside a base for which there is no room; by itself it may run."""


class FurtherLaunches:
    """Makes them, until a comparison is decided.

    Args:
        preparer: where arms are prepared.
        target: returns what a case is compiled for.
        drawing: gives each launch what it compiles with.
        costs: measures what serving costs.
        asked: what cases need besides a decided comparison.
    """

    def __init__(
        self,
        base: Base,
        preparer: Preparer,
        target: Callable[[Case], Target],
        drawing: DrawingLaunches,
        costs: ServingCosts,
        asked: Asked,
    ) -> None:
        self._base = base
        self._preparer = preparer
        self._target = target
        self._drawing = drawing
        self._costs = costs
        self._asked = asked

    def single(self, arm: PairedArm) -> Record:
        """Return the record of the head, measured without its base."""
        head = arm.single()
        contention = self._measured(head, self._preparer.settings)
        keep_profile(head, self._asked.profiled, self._preparer.progress)
        return self._costs.finished(head, contention, (head.case.compiler,))

    def confirmed(self, record: Record, arm: PairedArm) -> Record:
        """Return the record with launches added to its comparison until it can be decided, and what the base asks for.

        If the head fails in one of them, return that launch's record.
        """
        comparison = record.comparison
        if comparison is None:
            return record
        # A case that is compared in both ways is a module: its exported program lacks the Python around the graph.
        itself = arm.of_kind(ApartArm, comparison.module) if comparison.module else arm
        comparison, failed = self._decided(comparison, arm)
        if comparison.module and not comparison.problem:
            module, failed = self._decided(comparison.module, itself)
            comparison = dataclasses.replace(comparison, module=module)
        profile: dict[str, Any] = {}
        if self._base.explains(comparison):
            explanation, profile = self._explained(arm)
            comparison = dataclasses.replace(comparison, explanation=explanation)
        elif comparison.module and self._base.explains(comparison.module):
            explanation, profile = self._explained(itself)
            module = dataclasses.replace(comparison.module, explanation=explanation)
            comparison = dataclasses.replace(comparison, module=module)
        record = dataclasses.replace(failed or record, comparison=comparison, profile=profile)
        if arm.case in self._asked.tails and arm.has_single_calls:
            record = self._with_calls(record, itself)
        if arm.case in self._asked.alone:
            record = self._launched_alone(record, itself)
        return self._served(record, itself) if self._costs.asks(arm.case) else record

    def _decided(self, comparison: Comparison, arm: PairedArm) -> tuple[Comparison, Record | None]:
        """Return the comparison with launches in fresh processes added until it can be decided.

        The record is that of a launch in which the head failed; None if it did not. Where both were in the process that
        failed, the head is launched alone to see whether it does.
        """
        failed = None
        while not comparison.problem and not self._base.decides.is_decided(comparison):
            launch = self._launch(arm)
            if isinstance(launch, Launch):
                comparison = dataclasses.replace(comparison, launches=(*comparison.launches, launch))
                continue
            broken = launch.comparison.broken if launch.comparison else ""
            comparison = dataclasses.replace(comparison, problem=_why_not_again(launch), broken=broken)
            if launch.failure is not None and arm.is_of_both(launch.failure):
                settings = dataclasses.replace(self._preparer.settings, budget_s=self._preparer.settings.launch_s)
                launch = self._launch_alone(arm, HEAD, settings, None)
            if launch.failure is not None and launch.failure.kind != OUT_OF_MEMORY:
                message = f"measured once, but then, in a fresh process: {launch.failure.message}"
                failure = dataclasses.replace(launch.failure, message=message)
                failed = dataclasses.replace(launch, failure=failure)
        return comparison, failed

    def _launch(self, arm: PairedArm) -> Launch | Record:
        """Make one more launch, in fresh processes; return the record of one that fails."""
        with self._in_fresh_processes(arm) as (again, settings):
            record = self._run_alone(again, settings)
        if again.can_run:
            return dataclasses.replace(again.launch, fresh=True)
        return record

    def _explained(self, arm: PairedArm) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return what head and base differ in, and where the head's time goes, by profiling both in fresh processes."""
        with self._in_fresh_processes(arm) as (again, _):
            self._preparer.prepare(again)
            if not again.can_run:
                problem = {"problem": again.problem or again.prepared.skip_reason}
                return problem, problem
            try:
                profiles = again.profiled()
            except (Unsupported, WorkerFailed) as error:
                problem = {"problem": in_one_line(error)}
                return problem, problem
        return explain(profiles, fuses_alike=True).to_dict(), KeptProfile.of(profiles[1]).to_dict()

    @contextmanager
    def _in_fresh_processes(self, arm: PairedArm) -> Iterator[tuple[PairedArm, Settings]]:
        """Yield the same arm again, unprepared, whose workers are started for it and end with it; and its settings."""
        target = self._target(arm.case)
        with ExitStack() as started:

            def start(which: str) -> WorkerProcess:
                home = None if which == HEAD else self._base.home
                # Arms that are forked from two processes would differ in each launch as these two do.
                compiler = arm.case.compiler if arm.shares_process else ""
                return started.enter_context(self._preparer.workers.fresh(target, home, compiler=compiler))

            settings, draws = self._drawing.launch(draws=arm.searches)
            yield arm.again(start, settings, draws), settings
        self._drawing.forget()

    def _with_calls(self, record: Record, arm: PairedArm) -> Record:
        """Return the record with launches added to its comparison in which single calls of both arms are timed."""
        comparison = record.comparison
        if comparison is None or comparison.problem:
            return record

        def launch() -> CallLaunch | Record:
            with self._in_fresh_processes(arm) as (again, settings):
                self._preparer.prepare(again)
                calls = compare_calls(again, settings)
                return calls or again.finish(Contention(), ())

        launches, problem = launch_calls(launch)
        compared = dataclasses.replace(comparison, calls=launches, calls_problem=problem)
        return dataclasses.replace(record, comparison=compared)

    def _launched_alone(self, record: Record, arm: PairedArm) -> Record:
        """Return the record with launches of each arm alone added to its comparison, all compiled without the cache."""
        comparison = record.comparison
        if comparison is None or comparison.problem:
            return record
        settings = dataclasses.replace(self._preparer.settings, cache=None, budget_s=self._preparer.settings.launch_s)

        def launch(which: str) -> Record:
            return self._launch_alone(arm, which, settings, self._home(arm, which))

        launches, problem = launch_alone(launch)
        return dataclasses.replace(
            record, comparison=dataclasses.replace(comparison, alone=launches, alone_problem=problem)
        )

    def _launch_alone(self, arm: PairedArm, which: str, settings: Settings, home: Home | None) -> Record:
        """Measure the head or the base by itself, in a fresh process, and return its record."""
        with ExitStack() as started:
            fresh = self._preparer.workers.fresh(self._target(arm.case), home)
            alone = arm.alone(which, settings, lambda _: started.enter_context(fresh))
            return self._run_alone(alone, settings)

    def _served(self, record: Record, arm: PairedArm) -> Record:
        """Return the record with what serving the head costs, and the base, launched in turn."""
        comparison = record.comparison
        if comparison is None or record.outcome != "measured":
            return record
        arms = [HEAD] if comparison.problem else [HEAD, BASE]
        found = self._costs.measure(arm.case, [self._deployed(arm, which) for which in arms])
        costs = dict(zip(arms, found, strict=True))
        return dataclasses.replace(
            record, serving=costs[HEAD], comparison=dataclasses.replace(comparison, serving=costs.get(BASE))
        )

    def _home(self, arm: PairedArm, which: str) -> Home | None:
        """Return where the head or the base of an arm runs by itself; None for the head's own home."""
        return None if arm.shares_process or which == HEAD else self._base.home

    def _deployed(self, arm: PairedArm, which: str) -> Deployment:
        """Write the folder that serves the head or the base, from a fresh process."""
        home = self._home(arm, which)
        with self._preparer.workers.fresh(self._target(arm.case), home) as worker:
            alone = arm.alone(which, self._preparer.settings, lambda _: worker)
            self._preparer.prepare(alone)
            deployment = self._costs.write(alone, (home or OWN_HOME).python)
        problem = f"the {which} alone cannot be prepared: {alone.prepared.problem}"
        return deployment or Deployment(Costs(problem=problem))

    def _run_alone(self, arm: Arm, settings: Settings) -> Record:
        """Prepare and measure one arm with no other beside it, and return its record."""
        return arm.finish(self._measured(arm, settings), (arm.case.compiler,))

    def _measured(self, arm: Arm, settings: Settings) -> Contention:
        """Prepare and measure one arm with no other beside it."""
        self._preparer.prepare(arm)
        return interleave([arm], settings, self._preparer.progress)


def _why_not_again(record: Record) -> str:
    """Return why a further launch failed, given its record."""
    problem = record.comparison.problem if record.comparison else ""
    return f"measuring it again failed: {problem or f'the head was skipped: {record.skip_reason}'}"
