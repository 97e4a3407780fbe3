"""The worker processes of a bench."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pytest_ngraph.artifact import Target
from pytest_ngraph.bench.process import OWN_HOME, Home, WorkerFailed, WorkerProcess

Role = str
"""What a worker is for: a compiler's name with its options, or one of the roles below."""
EXPORTER = "exporter"
BASE_EXPORTER = "exporter of the base"
EXPORTERS = (EXPORTER, BASE_EXPORTER)
LAUNCH = "launch"
SWOLLEN_SHARE, SWOLLEN_BYTES = 0.125, 2 * 2**30
"""A worker that still holds more than this without a model is ended: a share of its memory limit, but at least
this many bytes. On a small device, the libraries alone take a good part of the limit."""


class Workers:
    """Starts workers when they are first needed, and keeps one per role and target.

    Targets that differ in precision only share a worker. One worker per precision would leave many idle ones in memory,
    and what matters in a process that is used again are its threads, which do not depend on the precision.

    Args:
        temporary: where workers put temporary files.
        memory_bytes: the memory limit of each; None for none.
        home: where they run, unless a method is given another home.
    """

    def __init__(self, temporary: Path, memory_bytes: int | None, home: Home = OWN_HOME) -> None:
        self._temporary = temporary
        self._memory_bytes = memory_bytes
        self._home = home
        self._resident: dict[tuple[Role, Target], WorkerProcess] = {}
        self._importing: list[WorkerProcess] = []

    def resident(self, role: Role, target: Target, home: Home | None = None) -> WorkerProcess:
        """Return the worker of this role, a new one if the last one died."""
        key = _key(role, target)
        if key in self._resident and not self._resident[key].alive:
            self._resident.pop(key).close()  # and kill what it started
        if key not in self._resident:
            self._resident[key] = self._start(role, target, home)
        return self._resident[key]

    def start_ahead(self, compilers: Iterable[tuple[Role, Target]]) -> None:
        """Start workers of compilers, which import their libraries while the bench waits for another worker.

        A worker that cannot be started fails when it is asked for.
        """
        for compiler, target in compilers:
            key = _key(compiler, target)
            if key not in self._resident:
                with suppress(WorkerFailed):
                    self._resident[key] = worker = self._start(compiler, target, ahead=True)
                    self._importing.append(worker)

    def settle(self, timeout_s: float) -> None:
        """Wait until the workers started ahead are ready, so that what is timed next has the machine to itself.

        A worker that is not ready within `timeout_s` is killed, and started again when it is asked for.
        """
        importing, self._importing = self._importing, []
        for worker in importing:
            with suppress(WorkerFailed):
                if worker.alive:
                    worker.request("ready", timeout_s=timeout_s)

    @contextmanager
    def fresh(self, target: Target, home: Home | None = None) -> Iterator[WorkerProcess]:
        """Start a worker for this context only."""
        worker = self._start(LAUNCH, target, home)
        try:
            yield worker
        finally:
            worker.close()

    def discard_dead(self) -> None:
        """Remove workers that died."""
        self._discard(lambda _, worker: not worker.alive)

    def discard_compilers(self) -> None:
        """End the workers of compilers, so that the next case starts in a fresh one."""
        self._discard(lambda role, _: role not in EXPORTERS)

    def discard_swollen(self) -> None:
        """End workers that hold much memory although their model was released.

        Memory that a compiler never frees would be missing where others run.
        """
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
