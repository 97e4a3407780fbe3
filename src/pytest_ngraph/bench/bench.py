"""Groups of cases in, records out."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import psutil

from pytest_ngraph.artifact import Artifact, Target
from pytest_ngraph.bench.arm import Arm
from pytest_ngraph.bench.group import interleave
from pytest_ngraph.bench.lock import exclusive
from pytest_ngraph.bench.process import WorkerFailed, WorkerProcess
from pytest_ngraph.bench.progress import Progress, Silent
from pytest_ngraph.case import Case
from pytest_ngraph.errors import Unsupported
from pytest_ngraph.record import Record
from pytest_ngraph.settings import Settings

EXPORTER = "exporter"
RESIDENT_SHARE = 0.7
"""Arms stay resident together until this share of the machine's memory is in use; then they take turns."""

WorkerKey = tuple[str, Target]


class Bench:
    """Owns worker processes, one per compiler and target, and keeps them from one group to the next.

    target: the target of a case's device.
    """

    def __init__(self, settings: Settings, target: Callable[[Case], Target], progress: Progress | None = None) -> None:
        self._settings = settings
        self._target = target
        self._progress = progress or Silent()
        self._workers: dict[WorkerKey, WorkerProcess] = {}
        self._folder = Path(tempfile.mkdtemp(prefix="ngraph-bench-"))

    def run(self, cases: Sequence[Case]) -> Iterator[Record]:
        """Measure the cases of one group; one record for each, as soon as it is complete."""
        folder = Path(tempfile.mkdtemp(dir=self._folder))
        with exclusive(self._progress.waiting):
            try:
                artifact = self._export(cases[0], folder)
            except Unsupported as reason:
                yield from (self._unmeasured(case, skip_reason=str(reason)) for case in cases)
            except WorkerFailed as error:
                yield from (self._unmeasured(case, error=error) for case in cases)
            else:
                yield from self._measure(list(cases), artifact)
            finally:
                self._discard_dead()
                shutil.rmtree(folder, ignore_errors=True)

    def close(self) -> None:
        """End every worker and remove what they left."""
        for worker in self._workers.values():
            worker.close()
        self._workers.clear()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _export(self, case: Case, folder: Path) -> Artifact:
        worker = self._worker(EXPORTER, self._target(case.group))
        answer = worker.request(
            "export",
            timeout_s=self._settings.timeout_s,
            on_phase=lambda phase: self._progress.phase(case, phase),
            case=case.group.to_dict(),
            folder=str(folder),
        )
        return Artifact.from_dict(answer)

    def _measure(self, cases: list[Case], artifact: Artifact) -> Iterator[Record]:
        while cases:
            arms: list[Arm] = []
            while cases and (not arms or psutil.virtual_memory().percent < 100 * RESIDENT_SHARE):
                arm = self._prepared(cases.pop(0), artifact)
                arms.append(arm)
            names = tuple(arm.case.compiler for arm in arms if arm.running)
            contention = interleave(arms, self._settings, self._progress)
            for arm in arms:
                yield arm.finish(contention, names)
            if self._settings.isolation == "case":
                self._discard(lambda key, _: key[0] != EXPORTER)

    def _prepared(self, case: Case, artifact: Artifact) -> Arm:
        target = self._target(case)
        arm = Arm(case, artifact, target, self._settings, worker=lambda: self._worker(case.compiler, target))
        arm.prepare(lambda phase: self._progress.phase(case, phase))
        return arm

    def _worker(self, compiler: str, target: Target) -> WorkerProcess:
        key = (compiler, target)
        if key not in self._workers or not self._workers[key].alive:
            self._workers[key] = WorkerProcess(
                cores=target.cores, temporary=self._folder, memory_bytes=self._settings.memory_bytes
            )
        return self._workers[key]

    def _discard_dead(self) -> None:
        self._discard(lambda _, worker: not worker.alive)

    def _discard(self, condemned: Callable[[WorkerKey, WorkerProcess], bool]) -> None:
        for key, worker in list(self._workers.items()):
            if condemned(key, worker):
                self._workers.pop(key).close()

    @staticmethod
    def _unmeasured(case: Case, *, error: WorkerFailed | None = None, skip_reason: str = "") -> Record:
        return Record(
            case=case,
            outcome="failed" if error else "skipped",
            started_at=time.time(),
            failure=error.failure if error else None,
            skip_reason=skip_reason,
        )
