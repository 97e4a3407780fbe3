"""What others register is loaded when it is used, and told in words when it cannot be."""

from __future__ import annotations

from importlib.metadata import EntryPoint

import pytest

from pytest_ngraph import entrypoints
from pytest_ngraph.errors import UsageError


def test_a_registered_object_that_cannot_be_loaded_is_one_message(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = {"broken": EntryPoint("broken", "no_such_package.module:Compiler", "ours")}
    monkeypatch.setattr(entrypoints, "registered", lambda group: broken)
    with pytest.raises(UsageError, match=r"compiler 'broken' cannot be imported: No module named 'no_such_package'"):
        entrypoints.load("ours", "compiler", "broken")
