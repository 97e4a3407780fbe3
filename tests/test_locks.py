"""Locks, where the system has them."""

from __future__ import annotations

import importlib
import sys

import pytest

from pytest_ngraph import locks


def test_a_system_without_locks_of_posix_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fcntl", None)
    with pytest.raises(ImportError, match="pytest-ngraph measures on Linux and macOS"):
        importlib.reload(locks)
