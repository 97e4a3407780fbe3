"""Import path of the scripts, which are not an installed package, and a network that is quickly measured.

Where it is not about their start, programs of the comparison are forked from a process that has imported PyTorch.
"""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import plain
import pytest
from compiled import CPU
from forking import Script, TorchServer

PEERS = Path(__file__).parents[2] / "benchmarks" / "peers"
sys.path += [str(PEERS), str(PEERS / "programs")]


@pytest.fixture
def network(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """A workload that every child process can import. None of them waits for other processes that measure."""
    users = str(plain.USERS)
    path = [users, *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path))
    monkeypatch.syspath_prepend(users)  # our workers import from where their parent does
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    return "mine:network"


@pytest.fixture
def forked_programs(network: str, torch_server: TorchServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs of this interpreter are forked with PyTorch imported, and otherwise run as they would."""
    from comparing import child

    def start(command: Sequence[str], *, cwd: str, env: Mapping[str, str], stderr: Any, **_: object) -> _Program:
        python, program, given = command
        assert python == sys.executable
        code = (
            f"import os, runpy, sys\nos.chdir({cwd!r})\nos.environ.update({dict(env)!r})\n"
            f"sys.path.insert(0, {str(Path(program).parent)!r})\n"
            f"runpy.run_path({program!r}, run_name='__main__')\n"
        )
        return _Program(torch_server.start(Script(code, (given,)), CPU.cores, stderr))

    monkeypatch.setattr(child, "subprocess", SimpleNamespace(Popen=start, PIPE=subprocess.PIPE, run=subprocess.run))


class _Program:
    """A forked process, with the part of `subprocess.Popen` that `Child` needs."""

    def __init__(self, process: Any) -> None:
        self._process = process
        self.stdin = io.TextIOWrapper(process.stdin)
        self.stdout = io.TextIOWrapper(process.stdout)

    def wait(self) -> int:
        return int(self._process.wait())

    def kill(self) -> None:
        if self._process.poll() is None:
            os.kill(self._process.pid, signal.SIGKILL)

    def communicate(self) -> None:
        self.wait()
        self.stdout.close()
        self.stdin.close()
