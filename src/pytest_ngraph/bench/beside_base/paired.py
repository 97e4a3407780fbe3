"""A paired arm: a case and its base, both compiled in one worker and run in turn."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

from pytest_ngraph.bench.beside_base.base import BaseFails
from pytest_ngraph.bench.beside_base.draws import NO_DRAWS, Draws
from pytest_ngraph.bench.beside_base.pair import Pair
from pytest_ngraph.bench.beside_base.timed_round import watched
from pytest_ngraph.bench.processes.free_cores import FreeCores
from pytest_ngraph.bench.processes.process import OnPhase, OnProgress, WorkerFailed, WorkerProcess
from pytest_ngraph.bench.rounds.arm import Arm
from pytest_ngraph.bench.rounds.profiled import ProfiledModel, run_in_turn
from pytest_ngraph.bench.rounds.tails import Block, rounded
from pytest_ngraph.comparison import BASE, HEAD, Build, Comparison, Launch, PairedRound, is_disturbed
from pytest_ngraph.errors import Unsupported
from pytest_ngraph.explain.profile import Profile
from pytest_ngraph.machine import throttling
from pytest_ngraph.record import Agreement, Contention, Failure, Record, Round
from pytest_ngraph.settings import Settings
from pytest_ngraph.worker.measure import iterations_per_round

ROUND_S = 0.1
"""Target length of a round. The kernel's counters are read between rounds."""
BUILDS = 2
"""How often the arms are built in a launch: once base first, once head first."""
WARM_UP_WINDOW_S = 0.01
"""Length of a window of the warm-up. In longer ones, warming four models up would take as long as bursts."""
FEWEST_QUADS = 3
"""Minimum per build, however slow the model is."""
SLOW = 1.3
"""A quad that takes this many times as long as the fastest was delayed by other work."""
Start = Callable[[str], WorkerProcess]
"""Returns the worker of an arm (`HEAD` or `BASE`)."""


class PairedArm(Arm):
    """Used like any other arm. Its record is the head's, with a comparison of one launch.

    Once there is a `problem`, the arm is of no use: `single` returns one without the base.
    """

    is_compared = True
    shares_process = True
    burst_s = 0.001
    """Shortest burst; compared with it, the cost of reading a clock and of switching arms is small."""

    def __init__(
        self,
        pair: Pair,
        settings: Settings,
        start: Start,
        free_cores: FreeCores,
        draws: Draws = NO_DRAWS,
    ) -> None:
        super().__init__(pair.case, pair.artifact, pair.target, settings, lambda: start(HEAD), pair.comparison)
        self._pair = pair
        self._start = start
        self._free_cores = free_cores
        self._draws = draws
        self._builds: list[list[PairedRound]] = [[]]
        self._built_at_s = 0.0
        self._base_concurrency = 1
        self._fastest_s = math.inf
        self._disturbed = False

    def again(self, start: Start, settings: Settings, draws: Draws) -> PairedArm:
        """Return an unprepared arm of the same head and base, in workers that `start` returns."""
        return type(self)(self._pair, settings, start, self._free_cores, draws)

    def of_kind(self, kind: type[PairedArm], comparison: Comparison) -> PairedArm:
        """Return an unprepared arm of the same head and base, compared in another way."""
        pair = dataclasses.replace(self._pair, comparison=comparison)
        return kind(pair, self._settings, self._start, self._free_cores, self._draws)

    def alone(self, which: str, settings: Settings, start: Start) -> Arm:
        """Return the head or the base as an arm by itself, in the worker that `start` returns."""
        return Arm(*self._pair.compiled(which), settings, lambda: start(which))

    def profiled(self) -> list[Profile]:
        """Return the profiles of base and head, both prepared. Raises `Unsupported` and `WorkerFailed`."""
        asks = (BASE, self._request_base), (HEAD, self._request)
        models = [ProfiledModel(which, ask, *self._pair.compiled(which)) for which, ask in asks]
        run_in_turn(models)
        return [model.profile for model in models]

    def single(self) -> Arm:
        """Return the head as an ordinary arm, whose comparison holds the problem."""
        return Arm(self.case, self._artifact, self._target, self._settings, self._start_worker, self._comparison)

    @property
    def problem(self) -> str:
        """Why the two cannot be measured together, and which of them fails; empty as long as they can."""
        return self._comparison.problem

    @property
    def searches(self) -> bool:
        """Whether its compiler searches, so that each fresh launch compiles both arms for itself."""
        return self._comparison.searched

    @property
    def _comparison(self) -> Comparison:
        assert self._record.comparison is not None
        return self._record.comparison

    @property
    def can_run(self) -> bool:
        return super().can_run and not self.problem

    @property
    def is_done(self) -> bool:
        """Whether it has run as long as a launch should."""
        return len(self._builds) == BUILDS and self._build_is_done

    @property
    def has_fewest_rounds(self) -> bool:
        return self.is_done

    def prepare(self, on_phase: OnPhase, on_progress: OnProgress) -> None:
        """Compile, warm up and verify the base, then the head."""
        try:
            base_s = self._prepare_base(on_phase=on_phase, on_progress=on_progress)
        except BaseFails as error:
            self._break_off(f"the base does not run: {error}", error)
            return
        super().prepare(on_phase, on_progress)
        self._seconds_per_call = max(base_s, self._seconds_per_call)

    def measure_round(self, *, after_others: bool = False) -> None:
        """Time quads for one more round. Each burst comes after another arm's, so that caches are alike for both.

        Both arms are built again when half of the launch is over. Work that disturbed the last round may end first.
        """
        if self._build_is_done and not self.is_done:
            self.build_again()
        if self._disturbed:
            self._free_cores.wait(self._target.cores)
        if self.can_run:
            self._measure_quads()

    @property
    def launch(self) -> Launch:
        """What was measured."""
        builds = tuple(Build(rounds=tuple(rounds)) for rounds in self._builds)
        return Launch(builds=builds, iterations=self.rounds[0].iterations, fresh=False)

    def finish(self, contention: Contention, arms: tuple[str, ...], cycles: str = "") -> Record:
        record = super().finish(contention, arms, cycles)
        if record.outcome == "skipped" and not self.problem:  # the base was prepared before
            lost = dataclasses.replace(self._comparison, lost=record.skip_reason)
            return dataclasses.replace(record, comparison=lost)
        if not self.can_run or not self.rounds:
            return record
        comparison = dataclasses.replace(self._comparison, launches=(self.launch,))
        # CPU time of both models, and memory of a process that held both, say nothing about either.
        record = dataclasses.replace(record, comparison=comparison, cpu_percent=None)
        if self.shares_process:
            return dataclasses.replace(record, worker_memory_bytes=None, device_memory_bytes=None)
        return record

    def build_again(self) -> None:
        """Build both again, the head first: some compilers make the second of two equal models slower by 1 %."""
        self._ask("release", kind=self._target.kind)
        self._builds.append([])
        self._built_at_s = self.measured_s
        answer = self._ask("prepare", **self._preparation()) if self.can_run else None
        if answer is None:
            return
        agreement = Agreement(**answer["agreement"])
        if not agreement.agrees:
            message = f"agreed when first built, but not when built again: {agreement.problem}"
            self._fail(Failure(phase="verify", kind="disagreed", message=message))
            return
        try:
            self._prepare_base()
        except BaseFails as why:
            self._break_off(f"the base ran at first, but then failed: {why}", why)

    def _measure_quads(self) -> None:
        calls = math.ceil(self.burst_s / self._seconds_per_call)
        quads = iterations_per_round(4 * calls * self._seconds_per_call, ROUND_S)
        is_known = math.isfinite(self._fastest_s)
        slowest_s = SLOW * self._fastest_s if is_known and self._free_cores.would_wait else None
        clocks = throttling.of(self._target.kind, self._target.index)
        if (found := watched(lambda: self._time_quads(calls, quads, slowest_s), clocks)) is None:
            return
        used, measured = found
        self._count(used)
        self._builds[-1].append(measured)
        self._disturbed = len(measured.quads) < quads or is_disturbed(measured)
        self._fastest_s = min(self._fastest_s, *(quad.total_s for quad in measured.quads))
        iterations = calls * self._concurrency
        self.rounds += [Round(iterations, iterations * each) for quad in measured.quads for each in quad.head]

    def _time_quads(self, calls: int, quads: int, slowest_s: float | None) -> dict[str, Any] | None:
        """Return the answer to a `compare` request, or None after noting in the record why there is none."""
        return self._ask("compare", calls=calls, quads=quads, slowest_s=slowest_s)

    def time_calls(self, block: Block, which: str = HEAD) -> list[float]:
        answer = (self._ask if which == HEAD else self._ask_base)("time_calls", **block._asdict())
        return rounded(answer["seconds"]) if answer else []

    def _ask_base(self, do: str, **arguments: Any) -> dict[str, Any] | None:
        """Return the answer about a base that ran before, or None after noting how it failed."""
        try:
            return self._request_base(do, **arguments)
        except WorkerFailed as error:
            why = BaseFails(error.failure.in_one_line, kind=error.failure.kind)
            self._break_off(f"the base ran at first, but then failed: {why}", why)
            return None

    def _request_base(self, do: str, **arguments: Any) -> dict[str, Any]:
        """Send a request about the base to the worker that has it."""
        return self._request(do, arm=BASE, **arguments)

    @property
    def _build_is_done(self) -> bool:
        quads = sum(len(each.quads) for each in self._builds[-1])
        return quads >= FEWEST_QUADS and self.measured_s - self._built_at_s >= self._settings.launch_s / BUILDS

    def _prepare_base(self, **listeners: Any) -> float:
        """Prepare the base and return the seconds that a call takes. Raises `BaseFails` if it does not run."""
        try:
            answer = self._request_base("prepare", **self._preparation(BASE), **listeners)
        except Unsupported as reason:
            raise BaseFails(str(reason), kind="") from reason
        except WorkerFailed as error:
            raise BaseFails(error.failure.in_one_line, kind=error.failure.kind) from error
        agreement = Agreement(**answer["agreement"])
        if not agreement.agrees:
            raise BaseFails(f"its outputs are wrong: {agreement.problem}", kind="disagreed")
        self._update(comparison=dataclasses.replace(self._comparison, facts=answer["facts"]))
        self._base_concurrency = answer["concurrency"]
        seconds: float = answer["seconds_per_call"]
        return seconds

    def _fail(self, failure: Failure) -> None:
        """Note the failure and break off. The head may still run alone: there may be room for one model only."""
        super()._fail(failure)
        either = self.is_of_both(failure)
        which = "head and base do not run together" if either else "the head does not run beside the base"
        self._break_off(f"{which}: {failure.in_one_line}")

    def is_of_both(self, failure: Failure) -> bool:
        """Whether either may have failed: both ran in the process that did."""
        return self.shares_process and failure.phase == "measure"

    def _break_off(self, problem: str, base: BaseFails | None = None) -> None:
        """Note why the two cannot be measured together; `base` is the base's failure, if it is that."""
        broken, skipped = (base.kind, "" if base.kind else str(base)) if base else ("", "")
        found = dataclasses.replace(self._comparison, problem=problem, broken=broken, base_skipped=skipped)
        self._update(comparison=found)

    def _preparation(self, which: str = HEAD) -> dict[str, Any]:
        case, artifact, target = self._pair.compiled(which)
        drawn = dataclasses.replace(target, draw=self._draws[which])
        changes = {"case": case.to_dict(), "artifact": artifact.to_dict(), "target": drawn.to_dict()}
        return super()._preparation() | changes | {"round_s": WARM_UP_WINDOW_S}
