"""A repository whose cases take exactly as long as its files say."""

from __future__ import annotations

from pathlib import Path

import pytest
import weighed as weighing
from repository import Repository


@pytest.fixture
def weighed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    """The repository of `weighed.py`, as the working folder."""
    made = weighing.repository(tmp_path / "project")
    monkeypatch.chdir(made.root)
    return made
