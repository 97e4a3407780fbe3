"""The worker processes of a bench."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from pytest_ngraph import compilers
from pytest_ngraph.artifact import Target
from pytest_ngraph.bench.processes.forked import ForkServer, Refused
from pytest_ngraph.bench.processes.home import OWN_HOME, Home
from pytest_ngraph.bench.processes.lock import exclusive
from pytest_ngraph.bench.processes.process import WorkerFailed, WorkerProcess
from pytest_ngraph.bench.processes.scratch import Scratch
from pytest_ngraph.case import IDENTITY, CompilerSpec
from pytest_ngraph.compilers import kinds
from pytest_ngraph.machine.machine import memory_share_in_use, this_machine

ServerKey = tuple[str, tuple[int, ...], str]
"""Compiler without its options, cores and home of a fork server, the home as text."""
Role = str
"""What a worker is for: a compiler's name with its options, or one of the roles below."""
EXPORTER = "exporter"
BASE_EXPORTER = "exporter of the base"
EXPORTERS = (EXPORTER, BASE_EXPORTER)
LAUNCH = "launch"
AHEAD = 8
"""How many workers import their libraries at a time."""
ROOM_SHARE = 0.8
"""Where more than this share of the machine's memory is in use, there is no room for further workers."""
SWOLLEN_SHARE, SWOLLEN_BYTES = 0.125, 2 * 2**30
"""A worker that still holds more than this without a model is ended: a share of its memory limit, but at least
this many bytes. On a small device, the libraries alone take a good part of the limit."""


class Workers:
    """Starts workers when they are first needed, and keeps one per role and target.

    Targets that differ only in precision share a worker. One worker per precision would leave many idle ones in memory,
    and what a process carries over are its threads, which do not depend on the precision.

    Args:
        temporary: where workers put temporary files.
        memory_bytes: the memory limit of each; None for none.
        home: where they run, unless a method is given another home.
        forks: whether workers of compilers are forked, too, from the processes that launches are forked from. A
            compiler's libraries are then imported once, for all its options and launches.
        in_use: returns the share of the machine's memory that is in use.
    """

    def __init__(
        self,
        temporary: Path,
        memory_bytes: int | None,
        home: Home = OWN_HOME,
        *,
        forks: bool = False,
        in_use: Callable[[], float] = memory_share_in_use,
    ) -> None:
        self._in_use = in_use
        self._temporary = temporary
        self._memory_bytes = memory_bytes
        self._home = home
        self._forks = forks
        self._resident: dict[tuple[Role, Target], WorkerProcess] = {}
        self._importing: list[tuple[Role, Target]] = []
        self._servers: dict[ServerKey, ForkServer | None] = {}

    def resident(self, role: Role, target: Target, home: Home | None = None) -> WorkerProcess:
        """Return the worker of this role, a new one if the last one died."""
        key = shared_key(role, target)
        if key in self._resident and not self._resident[key].alive:
            self._resident.pop(key).close()  # and kill what it started
        if key not in self._resident:
            is_compiler = role not in EXPORTERS and home is None
            forked = self._forked(role, target, home, role) if self._forks and is_compiler else None
            self._resident[key] = forked or self._start(role, target, home)
        return self._resident[key]

    def start_ahead(self, compilers: Iterable[tuple[Role, Target]]) -> None:
        """Start workers of compilers, which import their libraries while the bench waits for another worker.

        At most `AHEAD` that are not there yet are started; if as many are there already, only where memory has room. A
        worker that cannot be started fails when it is asked for.
        """
        missing = {key: each for each in compilers if (key := shared_key(*each)) not in self._resident}
        if len(self._resident) >= AHEAD and self._in_use() >= ROOM_SHARE:
            return
        for key, (compiler, target) in list(missing.items())[:AHEAD]:
            if self._forks and self._server(compiler, target):
                self._importing.append((compiler, target))
                continue
            with suppress(WorkerFailed):
                self._resident[key] = self._start(compiler, target, ahead=True)
                self._importing.append((compiler, target))

    def settle(self, timeout_s: float) -> None:
        """Wait until the workers started ahead are ready, so that what is timed next has the machine to itself.

        A worker that is not ready within `timeout_s` is killed, and started again when it is asked for.
        """
        importing, self._importing = self._importing, []
        for compiler, target in importing:
            with suppress(WorkerFailed):
                worker = self._resident.get(shared_key(compiler, target)) or self.resident(compiler, target)
                if worker.alive:
                    worker.request("ready", timeout_s=timeout_s)

    def further(self, role: Role, target: Target) -> WorkerProcess:
        """Start one more worker of this role, which the caller closes. Raises `WorkerFailed`."""
        return self._start(role, target)

    @contextmanager
    def fresh(self, target: Target, home: Home | None = None, compiler: str = "") -> Iterator[WorkerProcess]:
        """Start a worker for this context only.

        Args:
            compiler: it is forked from a process that has imported this compiler's libraries, where that is possible;
                empty for a process of its own.
        """
        worker = self._forked(compiler, target, home) if compiler else None
        worker = worker or self._start(LAUNCH, target, home)
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
        """End every worker and every fork server."""
        self._discard(lambda *_: True)
        for key in sorted(self._servers, key=lambda key: key[0] == IDENTITY):  # it reaps those forked from it
            self._close_server(key)

    def _forked(self, compiler: str, target: Target, home: Home | None, role: Role = LAUNCH) -> WorkerProcess | None:
        """Return a forked worker; None where that is not possible: libraries may start threads, or use a GPU."""
        server = self._server(compiler, target, home)
        try:
            return self._start(role, target, home, server=server) if server is not None else None
        except Refused:
            self._close_server(_server_key(compiler, target, home))
            return None

    def _server(self, compiler: str, target: Target, home: Home | None = None) -> ForkServer | None:
        """Return the process that workers of a compiler are forked from, which may still import; None without one."""
        if target.kind != "cpu" or not hasattr(os, "pidfd_open"):
            return None
        key = _server_key(compiler, target, home)
        if key not in self._servers:
            self._servers[key] = None  # where it fails once, it is not tried again
            is_further = key[0] != IDENTITY and key[0] in compilers.names()  # one of a user's own may need no PyTorch
            root = self._server(IDENTITY, target, home) if is_further else None
            place = target.cores, self._temporary, self._in_place(home)
            with suppress(Refused):
                self._servers[key] = ForkServer(compiler, *place, root)
        return self._servers[key]

    def _close_server(self, key: ServerKey) -> None:
        if (server := self._servers.get(key)) is not None:
            server.close()
        self._servers[key] = None

    def _in_place(self, home: Home | None) -> Home:
        """Return the home of a worker, with the folder that all workers run in."""
        return dataclasses.replace(home, folder=home.folder or self._home.folder) if home else self._home

    def _start(
        self,
        role: Role,
        target: Target,
        home: Home | None = None,
        *,
        ahead: bool = False,
        server: ForkServer | None = None,
    ) -> WorkerProcess:
        return WorkerProcess(
            cores=target.cores,
            temporary=self._temporary,
            memory_bytes=self._memory_bytes,
            unified=target.kind != "cpu" and any(gpu.unified for gpu in this_machine().gpus),
            environment=kinds.named(target.kind).only(target.index, os.environ),
            home=self._in_place(home),
            bound=role not in EXPORTERS,
            ahead=role if ahead else "",
            role=role,
            server=server,
        )

    def _discard(self, condemned: Callable[[Role, WorkerProcess], bool]) -> None:
        for key, worker in list(self._resident.items()):
            if condemned(key[0], worker):
                self._resident.pop(key).close()


@contextmanager
def workers_alone(
    on_wait: Callable[[str], None], memory_bytes: int | None, home: Home = OWN_HOME
) -> Iterator[tuple[Workers, Path]]:
    """Hold the machine; yield workers and a folder for what they write, both for this context only.

    Args:
        on_wait: as in `exclusive`.
        memory_bytes: as in `Workers`, as is `home`.
    """
    with (
        exclusive(on_wait),
        closing(Scratch()) as scratch,
        closing(Workers(scratch.folder, memory_bytes, home)) as workers,
    ):
        yield workers, scratch.folder


def _server_key(compiler: str, target: Target, home: Home | None) -> ServerKey:
    return CompilerSpec.parse(compiler).name, target.cores, str(home)


def shared_key(role: Role, target: Target) -> tuple[Role, Target]:
    """Return the same key for all targets that share a worker of this role."""
    return role, dataclasses.replace(target, precision="fp32")
