"""How a worker is set up before its first request."""

from __future__ import annotations

import os
import sys
import sysconfig
from pathlib import Path

import pytest

from pytest_ngraph.system.relocation import STANDARD_LIBRARY
from pytest_ngraph.worker.__main__ import set_up


def test_the_working_folder_is_importable_and_shadows_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Plain `pytest` does not import from it: `net.py` beside `benchmarks/` was not found."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [])
    set_up(path=["first"], keep_own=False, ahead="")
    assert sys.path == ["first", str(tmp_path)]
    set_up(path=[str(tmp_path), "second"], keep_own=False, ahead="")
    assert sys.path == [str(tmp_path), "second"]


def test_the_projects_folders_in_another_interpreter_shadow_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    standard = os.path.realpath(sysconfig.get_path("stdlib"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [standard, "site-packages"])
    set_up(path=["tests", STANDARD_LIBRARY, str(tmp_path)], keep_own=True, ahead="")
    assert sys.path == ["tests", standard, str(tmp_path), "site-packages"]
