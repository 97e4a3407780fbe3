"""Import path of the scripts, which are not an installed package, and a network that is quickly measured."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import plain
import pytest

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
