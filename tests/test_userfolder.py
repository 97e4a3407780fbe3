from __future__ import annotations

from pathlib import Path

import pytest

from pytest_ngraph.errors import UsageError
from pytest_ngraph.system.files import compiled_folder, user_folder


def test_a_user_without_a_home_is_told_what_to_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def unknown(uid: int) -> None:
        raise KeyError(uid)

    monkeypatch.delenv("HOME")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr("pwd.getpwuid", unknown)
    with pytest.raises(UsageError, match=r"has no home folder to keep caches in\. Set XDG_CACHE_HOME"):
        user_folder()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert user_folder() == tmp_path / "pytest-ngraph"
    assert compiled_folder().parent == user_folder()
