"""An arm: one case in its worker process, from compiling to its record."""

from __future__ import annotations

import dataclasses
import math
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median
from typing import Any, ClassVar

from pytest_ngraph.artifact import Artifact, Target
from pytest_ngraph.bench.processes.process import OnPhase, OnProgress, WorkerFailed, WorkerProcess
from pytest_ngraph.bench.rounds.headroom import DeviceMemory
from pytest_ngraph.bench.rounds.profiled import ProfiledModel
from pytest_ngraph.bench.rounds.tails import Block, rounded
from pytest_ngraph.case import Case
from pytest_ngraph.comparison import Comparison
from pytest_ngraph.errors import Unsupported
from pytest_ngraph.load import Load, Rate
from pytest_ngraph.machine import compiler_code
from pytest_ngraph.record import Agreement, Contention, Failure, Phase, Record, Round, Warmup
from pytest_ngraph.serving.written import Written
from pytest_ngraph.settings import Settings
from pytest_ngraph.worker.measure import LONG_CALL_S, is_precise, is_settled, iterations_per_round, untimed_calls
from pytest_ngraph.worker.protocol import TIMES

RELEASE_S = 60.0
"""A worker that takes longer than this to free its model is killed."""


class Arm:
    """One case: prepared once, measured round by round in turn with the other arms of its group, then made a record.

    Attributes:
        in_step: whether its n-th round ran in the n-th cycle of its group.
        stopped: why its group's goal asked for no more rounds; empty where its precision or the budget ended them.
        is_compared: whether it is measured beside its base. A round of its group's cycles then has rounds of both.
    """

    is_compared: ClassVar[bool] = False

    def __init__(
        self,
        case: Case,
        artifact: Artifact,
        target: Target,
        settings: Settings,
        worker: Callable[[], WorkerProcess],
        comparison: Comparison | None = None,
    ) -> None:
        self.case = case
        self.rounds: list[Round] = []
        self.calls: list[float] = []
        self.involuntary_switches = 0
        self.measured_s = 0.0
        self.in_step = True
        self.stopped = ""
        self._record = Record(
            case=case, outcome="measured", model=artifact.model, started_at=time.time(), comparison=comparison
        )
        self._artifact = artifact
        self._target = target
        self._settings = settings
        self._start_worker = worker
        self._worker: WorkerProcess | None = None
        self._seconds_per_call = math.inf
        self._concurrency = 1
        self._cpu_s = 0.0
        self._has_peaks = False
        self.device_memory: DeviceMemory | None = None

    @property
    def target(self) -> Target:
        """What it is compiled for."""
        return self._target

    @property
    def can_run(self) -> bool:
        """Whether it can be measured: it has neither failed nor been skipped."""
        return self._record.outcome == "measured"

    @property
    def is_done(self) -> bool:
        """Whether it needs no more rounds."""
        if self._settings.smoke:
            return len(self.rounds) > 0
        return is_settled(self.rounds, self._settings.precision_target, first=self._settings.min_rounds)

    @property
    def has_fewest_rounds(self) -> bool:
        """Whether it has the minimum number of rounds."""
        return len(self.rounds) >= self._settings.min_rounds

    @property
    def _is_precise(self) -> bool:
        """Whether its rounds meet the precision target."""
        return self.has_fewest_rounds and is_precise(self.rounds, self._settings.precision_target)

    def prepare(self, on_phase: OnPhase, on_progress: OnProgress) -> None:
        """Compile, warm up and verify."""
        answer = self._ask("prepare", on_phase=on_phase, on_progress=on_progress, **self._preparation())
        if self._worker is not None:
            self._update(follows_from={"files": self._own_among(self._worker.read)})
        if answer is None:
            return
        agreement = Agreement(**answer["agreement"])
        copied = {name: answer[name] for name in (*TIMES, "cached_at", "facts")}
        self._update(warmup=Warmup(**answer["warmup"]), agreement=agreement, **copied)
        if not agreement.agrees:
            self._fail(Failure(phase="verify", kind="disagreed", message=agreement.problem))
            return
        self._concurrency = answer["concurrency"]
        self._update(pipelined_s=answer.get("pipelined_s"))
        if shares := answer.get("device_memory"):
            self.device_memory = DeviceMemory(*shares)
        if not self._settings.smoke:
            self._seconds_per_call = answer["seconds_per_call"]

    def _own_among(self, read: Mapping[str, str]) -> dict[str, str]:
        """Return the files that a worker read, without modules that only other workloads import."""
        others = set(self._artifact.unrelated).difference(compiler_code.files(self.case.compiler))
        return {path: digest for path, digest in read.items() if path not in others}

    def score(self, scorer: Callable[[], WorkerProcess], file: Path) -> None:
        """Have the outputs scored by the user's own function, in another process than the one that is timed.

        Args:
            scorer: returns that process.
            file: where the outputs lie until they are scored.
        """
        if self._ask("save_outputs", file=str(file)) is None:
            return
        try:
            worker = scorer()
            timeout_s, function = self._settings.timeout_s, self.case.scored_by
            answer = worker.request("score", timeout_s=timeout_s, phase="verify", function=function, outputs=str(file))
        except WorkerFailed as error:
            self._fail(error.failure)
        else:
            files = {**self._record.follows_from.get("files", {}), **worker.read}
            self._update(score=answer["score"], follows_from={"files": files})
        finally:
            file.unlink(missing_ok=True)

    @property
    def prepared(self) -> Record:
        """What came of preparing: the record, still without rounds."""
        return self._record

    def measure_round(self, *, after_others: bool = False) -> None:
        """Time one more round.

        Args:
            after_others: another arm has worked since the last round, and filled the caches.
        """
        calls = iterations_per_round(self._seconds_per_call, self._settings.aim_s)
        is_cold = after_others and self._seconds_per_call < LONG_CALL_S
        answer = self._ask("measure", calls=calls, untimed=untimed_calls(calls) if is_cold else 0)
        if answer is None:
            return
        self._count(answer)
        self.rounds.append(Round(calls * self._concurrency, answer["elapsed_s"]))

    @property
    def has_single_calls(self) -> bool:
        """Whether a call runs by itself and so has a time of its own: not side by side with others, as streams do."""
        return self.can_run and self.case.runs_single_calls and self._concurrency == 1 and bool(self.rounds)

    @property
    def seconds_per_call(self) -> float:
        """Median seconds of a call in the rounds; before these, as of the warm-up."""
        if not self.rounds:
            return self._seconds_per_call
        return self._concurrency * median(each.sample_s for each in self.rounds)

    def time_calls(self, block: Block) -> list[float]:
        """Time single calls and return their seconds, to four digits; none if the arm fails."""
        answer = self._ask("time_calls", **block._asdict())
        return rounded(answer["seconds"]) if answer else []

    def serve(self, per_s: float, requests: int, **how: Any) -> Rate:
        """Put the model under load, and return what that showed. Arguments are those of `worker.load.run`.

        That does not count to its peak memory. Raises `WorkerFailed` where it fails; the rounds stand.
        """
        self._note_peaks()
        answer = self._request("load", lasts_s=requests / per_s, per_s=per_s, requests=requests, **how)
        return Rate(**answer | {"seconds": tuple(rounded(answer["seconds"]))})

    def instrument(self) -> ProfiledModel:
        """Instrument the model once more, beside the one that is loaded. That does not count to its peak memory.

        Raises:
            Unsupported: its compiler cannot profile it.
            WorkerFailed: instrumenting fails.
        """
        self._note_peaks()
        return ProfiledModel(self.case.compiler, self._request, self.case, self._artifact, self._target)

    def deploy(self, folder: Path) -> Written:
        """Write the folder that serves the model, which is loaded. What that takes does not count to its peak memory.

        Args:
            folder: where to write; empty.

        Raises:
            Unsupported: its compiler cannot deploy it.
            WorkerFailed: writing fails.
        """
        agreement = self._record.agreement
        assert agreement is not None, "only a model that was prepared is deployed"
        self._note_peaks()
        preparation = self._preparation()
        given = {name: preparation[name] for name in ("case", "artifact", "target")}
        answer = self._request("deploy", **given, tolerance=agreement.tolerance, folder=str(folder))
        return Written.from_answer(answer, folder, agreement)

    def note(self, *, load: Load | None = None, profile: dict[str, Any] | None = None) -> None:
        """Note what the model showed under load, or where its time goes, after its rounds."""
        self._update(load=load or self._record.load, profile=profile or self._record.profile)

    def finish(self, contention: Contention, arms: tuple[str, ...], cycles: str = "") -> Record:
        """Free the model and return the record. `arms` and `cycles` are as in `Record`."""
        if self._worker is not None and self._worker.alive:
            self._release()
        if self.can_run:
            self._update(
                rounds=tuple(self.rounds),
                calls=tuple(self.calls),
                stable=self._is_precise or bool(self.stopped),
                cpu_percent=100 * self._cpu_s / (self.measured_s * (os.cpu_count() or 1)),
                contention=dataclasses.replace(contention, involuntary_switches=self.involuntary_switches),
                arms=arms,
                cycles=cycles if self.in_step and not self.is_compared else "",
                stopped=self.stopped,
            )
        return self._record

    def _note_peaks(self) -> None:
        """Note the peak memory so far, before more is asked of the worker than measuring."""
        if not self._has_peaks:
            self._update(**self._request("peaks", kind=self._target.kind))
            self._has_peaks = True

    def _release(self) -> None:
        """Free the model and note its peak memory. If that fails, the measurements stay valid."""
        try:
            peaks = self._request("release", kind=self._target.kind)
        except (Unsupported, WorkerFailed) as error:
            self._update(facts=self._record.facts | {"closing": str(error)})
        else:
            if self.can_run and not self._has_peaks:
                self._update(**peaks)

    def _count(self, used: dict[str, Any]) -> None:
        """Add what the worker used for some rounds."""
        self.involuntary_switches += used["involuntary_switches"]
        self.measured_s += used["wall_s"]
        self._cpu_s += used["cpu_s"]

    def _preparation(self) -> dict[str, Any]:
        return {
            "case": self.case.to_dict(),
            "artifact": self._artifact.to_dict(),
            "target": self._target.to_dict(),
            "warmup_s": 0.0 if self._settings.smoke else self._settings.warmup_s,
            "round_s": self._settings.round_s,
            "cache": self._settings.cache_to_dict(),
            "timed": self._settings.times_compiling,
        }

    def _ask(self, do: str, **arguments: Any) -> dict[str, Any] | None:
        """Return the worker's answer, or None after noting in the record why there is none."""
        try:
            return self._request(do, **arguments)
        except Unsupported as reason:
            self._update(outcome="skipped", skip_reason=str(reason))
        except WorkerFailed as error:
            self._fail(error.failure)
        return None

    def _request(self, do: str, **arguments: Any) -> dict[str, Any]:
        if self._worker is None:
            self._worker = self._start_worker()
        return self._send(self._worker, do, **arguments)

    def _send(self, worker: WorkerProcess, do: str, lasts_s: float = 0.0, **arguments: Any) -> dict[str, Any]:
        phase: Phase = "compile" if do in ("prepare", "deploy") else "measure"
        timeout_s = min(self._settings.timeout_s + lasts_s, RELEASE_S if do == "release" else math.inf)
        return worker.request(do, timeout_s=timeout_s, phase=phase, **arguments)

    def _fail(self, failure: Failure) -> None:
        self._update(outcome="failed", failure=failure)

    def _update(self, **changes: Any) -> None:
        self._record = dataclasses.replace(self._record, **changes)
