"""Locks, where the system has them."""

from __future__ import annotations

import importlib
import sys

import pytest

from pytest_ngraph.errors import UsageError
from pytest_ngraph.system import files


def test_a_system_without_posix_locks_is_one_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fcntl", None)
    importlib.reload(files)  # nothing but taking a lock needs them
    with pytest.raises(UsageError, match="pytest-ngraph measures on Linux and macOS"):
        files.take(0)
