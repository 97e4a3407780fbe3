"""A project, and the copy of another revision of it."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "project"


@pytest.fixture
def worktree(tmp_path: Path) -> Path:
    return tmp_path / "base"
