"""Compile many groups ahead: several processes at a time fill the cache before anything is timed."""

from __future__ import annotations

import shutil
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from pytest_ngraph.artifact import Artifact, Target
from pytest_ngraph.bench.processes.exporting import export
from pytest_ngraph.bench.processes.process import WorkerFailed, WorkerProcess
from pytest_ngraph.bench.processes.workers import EXPORTER, Role, Workers, shared_key
from pytest_ngraph.bench.progress import Progress
from pytest_ngraph.bench.rounds.headroom import RESIDENT_SHARE
from pytest_ngraph.case import Case
from pytest_ngraph.clock import Clock
from pytest_ngraph.errors import Unsupported
from pytest_ngraph.machine.machine import memory_share_in_use
from pytest_ngraph.settings import Settings
from pytest_ngraph.wording import counted

KEPT_SHARE = 0.25
"""Exported programs are kept until their cases are measured, as long as they take no more than this share of the free
disk."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ahead:
    """What is compiled ahead.

    Attributes:
        groups: cases that differ only in their compiler are one group; in the order in which they are measured.
        lanes: how many processes compile at a time.
        is_over: whether the time of the session is over, so that nothing further begins.
        note: shows a sentence at the end of the run.
    """

    groups: Sequence[Sequence[Case]]
    lanes: int
    is_over: Callable[[], bool] = lambda: False
    note: Callable[[str], None] = lambda text: None


class _Job(NamedTuple):
    """A group to export into a folder, or a case to compile from what was exported there."""

    folder: Path
    cases: Sequence[Case]
    role: Role
    target: Target
    artifact: Artifact | None = None


class _Exported(NamedTuple):
    """What a group was exported to, and whether the cache has each of its cases, so that no worker is needed."""

    artifact: Artifact
    is_cached: list[bool]


class CompilingAhead:
    """Exports groups and compiles their cases, each in a worker process, and leaves what failed to later.

    A case that fails here is compiled once more when its group is measured, alone, and then fails with its own message.
    Workers are ended before anything is timed. Together they may hold as much memory as one worker that measures.

    Args:
        workers: starts them; each has its part of the memory.
        target: returns what a case is compiled for.
        folder: where groups are exported to.
        in_use: returns the share of the machine's memory that is in use.

    Attributes:
        exported: what is kept of the exports, by group.
    """

    def __init__(
        self,
        ahead: Ahead,
        settings: Settings,
        workers: Workers,
        target: Callable[[Case], Target],
        folder: Path,
        progress: Progress,
        in_use: Callable[[], float] = memory_share_in_use,
        clock: Clock = time.monotonic,
    ) -> None:
        self.exported: dict[Case, Artifact] = {}
        self._ahead = ahead
        self._settings = settings
        self._workers = workers
        self._target = target
        self._folder = folder
        self._progress = progress
        self._in_use = in_use
        self._clock = clock
        self._jobs: deque[_Job] = deque()
        self._running: dict[Future[_Exported | str], tuple[_Job, WorkerProcess]] = {}
        self._idle: dict[tuple[Role, Target], list[WorkerProcess]] = defaultdict(list)
        self._became: Counter[str] = Counter()
        self._uncompiled: Counter[Case] = Counter()
        self._room_bytes = 0.0

    def run(self) -> None:
        """Compile all that can be, and note what came of it. An interrupt ends every process at once."""
        started = self._clock()
        self._folder.mkdir()
        self._room_bytes = KEPT_SHARE * shutil.disk_usage(self._folder).free
        for number, group in enumerate(self._ahead.groups):
            if compiled := [case for case in group if case.is_compiled]:
                folder, target = self._folder / str(number), self._target(compiled[0].group)
                self._jobs.append(_Job(folder, compiled, EXPORTER, target))
                self._uncompiled[compiled[0].group] = len(compiled)
        try:
            with ThreadPoolExecutor(self._ahead.lanes) as lanes:
                try:
                    self._work(lanes)
                finally:
                    for _, worker in self._running.values():
                        worker.kill()
        finally:
            self._end_idle()
            for _, worker in self._running.values():
                worker.close()
        if text := self._in_words(self._clock() - started):
            self._ahead.note(text)

    def _work(self, lanes: ThreadPoolExecutor) -> None:
        while self._jobs or self._running:
            if self._ahead.is_over():
                self._jobs.clear()
            while self._jobs and len(self._running) < self._ahead.lanes:
                try:
                    worker = self._worker(self._jobs[0])
                except WorkerFailed:
                    self._leave(self._jobs.popleft())
                    continue
                if worker is None:
                    break
                job = self._jobs.popleft()
                self._running[lanes.submit(self._ask, job, worker)] = job, worker
            done, _ = wait(self._running, return_when=FIRST_COMPLETED)
            for future in done:
                self._finish(*self._running.pop(future), future)

    def _worker(self, job: _Job) -> WorkerProcess | None:
        """Return a worker for the job; None if memory has no room for one while others work."""
        if idle := self._idle[shared_key(job.role, job.target)]:
            return idle.pop()
        if self._in_use() >= RESIDENT_SHARE:
            self._end_idle()
            if self._running and self._in_use() >= RESIDENT_SHARE:
                return None
        return self._workers.further(job.role, job.target)

    def _ask(self, job: _Job, worker: WorkerProcess) -> _Exported | str:
        """Have a worker do a job; return what became of a case that it compiles."""
        case = job.cases[0]
        if job.artifact is not None:
            return self._compile(case, job.artifact, job.target, worker)
        job.folder.mkdir()
        artifact = export(worker, case.group, job.folder, self._settings.timeout_s)
        became = (self._compile(each, artifact, self._target(each), worker, looks_only=True) for each in job.cases)
        return _Exported(artifact, [each == "cached" for each in became])

    def _compile(
        self, case: Case, artifact: Artifact, target: Target, worker: WorkerProcess, *, looks_only: bool = False
    ) -> str:
        """Have a worker compile a case, or only look whether the cache has it. Return what became of it."""
        answer = worker.request(
            "compile_ahead",
            timeout_s=self._settings.timeout_s,
            phase="compile",
            case=case.to_dict(),
            artifact=artifact.to_dict(),
            target=target.to_dict(),
            cache=self._settings.cache_to_dict(),
            looks_only=looks_only,
        )
        became: str = answer["became"]
        return became

    def _finish(self, job: _Job, worker: WorkerProcess, future: Future[_Exported | str]) -> None:
        if worker.alive and self._settings.isolation == "compiler":
            self._idle[shared_key(job.role, job.target)].append(worker)
        else:
            worker.close()
        try:
            done = future.result()
        except (Unsupported, WorkerFailed, OSError):
            self._leave(job)
            return
        if isinstance(done, str):
            self._end(job, done)
            return
        own = [_Job(job.folder, [case], case.compiler, self._target(case), done.artifact) for case in job.cases]
        found = list(zip(own, done.is_cached, strict=True))
        self._jobs.extendleft(each for each, is_cached in reversed(found) if not is_cached)
        for each, is_cached in found:
            if is_cached:
                self._end(each, "cached")

    def _leave(self, job: _Job) -> None:
        for _ in job.cases:
            self._end(job, "left")

    def _end(self, job: _Job, became: str) -> None:
        """Count what became of a case. After the last of its group, keep the export if there is room."""
        self._became[became] += 1
        group = job.cases[0].group
        self._uncompiled[group] -= 1
        done = sum(self._became.values())
        planned = done + sum(self._uncompiled.values())
        self._progress.doing(job.cases[-1], f"compiled ahead, {done} of {planned}")
        if self._uncompiled[group]:
            return
        size = sum(file.stat().st_size for file in job.folder.rglob("*"))
        if job.artifact is not None and size <= self._room_bytes:
            self._room_bytes -= size
            self.exported[group] = job.artifact
        else:
            shutil.rmtree(job.folder, ignore_errors=True)

    def _end_idle(self) -> None:
        for workers in self._idle.values():
            while workers:
                workers.pop().close()

    def _in_words(self, seconds: float) -> str:
        """Return what was compiled ahead, in a sentence; empty where nothing was to be compiled."""
        compiled, left = self._became["compiled"], self._became["left"] + sum(self._uncompiled.values())
        if not (compiled or left):
            return ""
        others = f"; {left} left until measured" * bool(left)
        return (
            f"{counted(compiled, 'case')} compiled ahead in {seconds:.0f} s, {self._ahead.lanes} at a time, so without "
            f"seconds to compile{others}."
        )
