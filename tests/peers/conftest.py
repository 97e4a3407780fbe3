"""The scripts are no package that is installed; a network of a user's is small enough to be measured in no time."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

PEERS = Path(__file__).parents[2] / "benchmarks" / "peers"
sys.path += [str(PEERS), str(PEERS / "programs")]


@pytest.fixture
def network(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """A workload that every process which is started can import; none of them waits for others that measure."""
    support = str(Path(__file__).parents[1] / "support")
    path = [support, *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path))
    monkeypatch.syspath_prepend(support)  # a worker of ours is told to import from where its parent does
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    return "mine:network"
