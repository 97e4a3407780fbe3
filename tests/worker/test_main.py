"""How a worker is set up before its first request."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pytest_ngraph.worker.__main__ import set_up


def test_the_working_folder_is_importable_and_shadows_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Plain `pytest` does not import from it: `net.py` beside `benchmarks/` was not found."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [])
    set_up(path=["first"], keep_own=False, ahead="")
    assert sys.path == ["first", str(tmp_path)]
    set_up(path=[str(tmp_path), "second"], keep_own=False, ahead="")
    assert sys.path == [str(tmp_path), "second"]
