"""The worker processes of a bench."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pytest_ngraph.artifact import Target
from pytest_ngraph.bench.process import OWN_HOME, Home, WorkerFailed, WorkerProcess

Role = str
"""What a worker is for: a compiler's name with its options, or one of those below."""
EXPORTER = "exporter"
BASE_EXPORTER = "exporter of the base"
EXPORTERS = (EXPORTER, BASE_EXPORTER)
LAUNCH = "launch"
SWOLLEN_SHARE, SWOLLEN_BYTES = 0.125, 2 * 2**30
"""Of a worker's limit of memory, and no less than so many: what a worker holds without a model, its libraries and those
of a GPU, is a good part of a small device's."""


class Workers:
    """Starts workers when they are first needed, and keeps one per role and target, whatever the precision: one for
    each would leave many idle ones in memory, and what a process keeps between cases are its threads.

    temporary: where workers put their temporary files. memory_bytes: limit of each; None for none. home: where they
    live, unless told otherwise.
    """

    def __init__(self, temporary: Path, memory_bytes: int | None, home: Home = OWN_HOME) -> None:
        self._temporary = temporary
        self._memory_bytes = memory_bytes
        self._home = home
        self._resident: dict[tuple[Role, Target], WorkerProcess] = {}
        self._importing: list[WorkerProcess] = []

    def resident(self, role: Role, target: Target, home: Home | None = None) -> WorkerProcess:
        """The worker of this role, a new one if the last one died."""
        key = _key(role, target)
        if key in self._resident and not self._resident[key].alive:
            self._resident.pop(key).close()  # with all that it started
        if key not in self._resident:
            self._resident[key] = self._start(role, target, home)
        return self._resident[key]

    def start_ahead(self, compilers: Iterable[tuple[Role, Target]]) -> None:
        """Have the workers of compilers import their libraries while the bench waits for another. One that cannot be
        started fails when it is asked for."""
        for compiler, target in compilers:
            key = _key(compiler, target)
            if key not in self._resident:
                with suppress(WorkerFailed):
                    self._resident[key] = worker = self._start(compiler, target, ahead=True)
                    self._importing.append(worker)

    def settle(self, timeout_s: float) -> None:
        """Wait until those that were started ahead are ready, so that what is timed next has the machine for itself.
        One that does not get ready in so many seconds is killed, and started anew when it is asked for."""
        importing, self._importing = self._importing, []
        for worker in importing:
            with suppress(WorkerFailed):
                if worker.alive:
                    worker.request("ready", timeout_s=timeout_s)

    @contextmanager
    def fresh(self, target: Target, home: Home | None = None) -> Iterator[WorkerProcess]:
        """A worker of its own, ended afterwards."""
        worker = self._start(LAUNCH, target, home)
        try:
            yield worker
        finally:
            worker.close()

    def discard_dead(self) -> None:
        """Forget workers that died."""
        self._discard(lambda _, worker: not worker.alive)

    def discard_compilers(self) -> None:
        """End the workers of compilers, so that the next case starts in a fresh one."""
        self._discard(lambda role, _: role not in EXPORTERS)

    def discard_swollen(self) -> None:
        """End workers that hold on to memory though their model was released: a model or a pool that its compiler
        never frees is not to be missing where others run."""
        if self._memory_bytes is not None:
            most = max(SWOLLEN_SHARE * self._memory_bytes, SWOLLEN_BYTES)
            self._discard(lambda _, worker: worker.resident_bytes > most)

    def close(self) -> None:
        """End every worker."""
        self._discard(lambda *_: True)

    def _start(self, role: Role, target: Target, home: Home | None = None, *, ahead: bool = False) -> WorkerProcess:
        return WorkerProcess(
            cores=target.cores,
            temporary=self._temporary,
            memory_bytes=self._memory_bytes,
            home=dataclasses.replace(home, folder=home.folder or self._home.folder) if home else self._home,
            bound=role not in EXPORTERS,
            ahead=role if ahead else "",
            role=role,
        )

    def _discard(self, condemned: Callable[[Role, WorkerProcess], bool]) -> None:
        for key, worker in list(self._resident.items()):
            if condemned(key[0], worker):
                self._resident.pop(key).close()


def _key(role: Role, target: Target) -> tuple[Role, Target]:
    return role, dataclasses.replace(target, precision="fp32")
