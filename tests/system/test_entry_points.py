"""A registered object is loaded when it is used; one that cannot be loaded gives an error message."""

from __future__ import annotations

from importlib.metadata import EntryPoint

import pytest

from pytest_ngraph.errors import UsageError
from pytest_ngraph.system import entry_points


def test_a_registered_object_that_cannot_be_loaded_is_one_message(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = {"broken": EntryPoint("broken", "no_such_package.module:Compiler", "ours")}
    monkeypatch.setattr(entry_points, "registered", lambda group: broken)
    with pytest.raises(UsageError, match=r"compiler 'broken' cannot be imported: No module named 'no_such_package'"):
        entry_points.load("ours", "compiler", "broken")
