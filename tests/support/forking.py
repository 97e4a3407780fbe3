"""Workers and scripts forked from a process with PyTorch imported, whose import takes most of the time of many tests.

The fixtures `forked_workers` and `torch_server` of `tests/conftest.py` provide it, and such a process with pytest
imported is behind `forked_collecting`.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, ClassVar, NamedTuple

import pytest

from pytest_ngraph.against.revision import collecting
from pytest_ngraph.artifact import Target
from pytest_ngraph.bench.processes import worker_variables
from pytest_ngraph.bench.processes.forked import ForkedProcess, ForkServer, Refused
from pytest_ngraph.bench.processes.home import OWN_HOME, Home
from pytest_ngraph.bench.processes.process import WorkerProcess
from pytest_ngraph.bench.processes.workers import EXPORTERS, Workers
from pytest_ngraph.system.command import Finished

SCRIPT = "NGRAPH_TESTS_SCRIPT"
"""The environment variable of a forked process that runs a script, and is no worker."""


class Script(NamedTuple):
    """Code that runs as `python -c` would run it.

    Attributes:
        code: the text.
        arguments: what follows the first element of `sys.argv`.
        without: packages that it does not find imported, although the process that it is forked from has.
    """

    code: str
    arguments: tuple[str, ...] = ()
    without: tuple[str, ...] = ()


class TorchServer:
    """Forks workers as `Workers` would start them, for any bench of this process.

    Args:
        temporary: a folder that outlives all of them.

    Attributes:
        imports: declares what it imports, as a compiler does.
    """

    imports: ClassVar[str] = "forked_torch:Imports"

    def __init__(self, temporary: Path) -> None:
        self._temporary = temporary
        self._servers: dict[tuple[int, ...], _Server] = {}

    def of(self, cores: Sequence[int], temporary: Path, home: Home = OWN_HOME, *, bound: bool = True) -> View:
        """Return what forks workers for these cores, with the environment and the folder that they would start with."""
        variables = worker_variables.of_worker(cores, temporary, home, bound=bound)
        return View(self._server(cores), variables | {"PWD": str(home.folder or Path.cwd())})

    def start(
        self, script: Script, cores: Sequence[int], stderr: IO[bytes], environment: Mapping[str, str] | None = None
    ) -> ForkedProcess:
        """Start a script.

        Args:
            environment: its variables, among them its folder as `PWD`. None for those of a worker in the top folder,
                whose threads are bound to these cores.
        """
        if environment is None:
            environment = worker_variables.of_worker(cores, self._temporary, OWN_HOME, bound=True) | {"PWD": "/"}
        asked = {SCRIPT: json.dumps(script._asdict())}
        return View(self._server(cores), dict(environment) | asked).fork("", stderr)

    def run(
        self, script: Script, cores: Sequence[int], environment: Mapping[str, str] | None = None, given: str = ""
    ) -> subprocess.CompletedProcess[str]:
        """Run a script to its end, with `given` as its standard input; the rest as in `start`."""
        with tempfile.TemporaryFile() as stderr:
            process = self.start(script, cores, stderr, environment)
            with process.stdin:
                process.stdin.write(given.encode())
            with process.stdout:
                stdout = process.stdout.read()
            code = process.wait()
            stderr.seek(0)
            return subprocess.CompletedProcess([], code, stdout.decode(), stderr.read().decode())

    def _server(self, cores: Sequence[int]) -> _Server:
        key = tuple(cores)
        if key not in self._servers:
            self._servers[key] = _Server(self.imports, key, self._temporary, OWN_HOME)
        return self._servers[key]

    @contextmanager
    def used(self) -> Iterator[None]:
        """Have all benches fork their workers from here."""
        start, of = Workers._start, self.of

        def forked(
            self: Workers,
            role: str,
            target: Target,
            home: Home | None = None,
            *,
            ahead: bool = False,
            server: object = None,
        ) -> WorkerProcess:
            place = self._in_place(home)
            if target.kind == "cpu" and place.python == OWN_HOME.python:
                server = server or of(target.cores, self._temporary, place, bound=role not in EXPORTERS)
            with suppress(Refused):  # an emulator has threads of its own
                return start(self, role, target, home, ahead=ahead, server=server)  # type: ignore[arg-type]
            return start(self, role, target, home, ahead=ahead)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Workers, "_start", forked)
            patch.setattr(Workers, "_server", lambda *_: None)  # a bench has no server of its own
            yield

    def close(self) -> None:
        for server in self._servers.values():
            server.close()


class LightServer(TorchServer):
    """The same without PyTorch, for workloads and compilers that need no framework: its workers start much sooner."""

    imports = "forked_side:Light"


class CollectingServer(TorchServer):
    """The same with pytest and our plugin, for the processes that collect the tests of a base."""

    imports = "forked_pytest:Imports"

    @contextmanager
    def collecting(self) -> Iterator[None]:
        """Have bases collected from here by runs in this process. No limit of their time holds."""

        def run(
            command: Sequence[str], folder: Path, environment: Mapping[str, str], given: str, timeout_s: float
        ) -> Finished:
            _, _, code, *arguments = command
            ran = self.run(Script(code, tuple(arguments)), (), {**environment, "PWD": str(folder)}, given)
            return Finished(ran.returncode, ran.stdout, ran.stderr)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(collecting, "run", run)
            yield


class View:
    """The server of a bench; closing it ends nothing."""

    def __init__(self, server: _Server, environment: dict[str, str]) -> None:
        self._server, self._environment = server, environment

    def fork(self, mark: str, stderr: IO[bytes]) -> ForkedProcess:
        self._server.prepare(self._environment)
        return self._server.fork(mark, stderr)


class _Server(ForkServer):
    def prepare(self, environment: dict[str, str]) -> None:
        """Set the environment of the next worker; `PWD` is its folder."""
        self._control.sendall(json.dumps({"environment": environment}).encode())
        self._answer()
