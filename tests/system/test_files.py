from __future__ import annotations

import importlib
import stat
import sys
from pathlib import Path

import pytest

from pytest_ngraph.errors import StoreError, UsageError
from pytest_ngraph.system import files
from pytest_ngraph.system.files import compiled_folder, user_folder, write_whole


def test_a_file_is_this_users_only_and_nothing_else_is_left(tmp_path: Path) -> None:
    file = tmp_path / "folder" / "file"
    write_whole(file, b"old")
    write_whole(file, b"new")
    assert file.read_bytes() == b"new"
    assert [*file.parent.iterdir()] == [file]
    assert {stat.S_IMODE(path.stat().st_mode) for path in (file, file.parent)} == {0o600, 0o700}


def test_a_file_that_cannot_be_replaced_is_unchanged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    file = tmp_path / "file"
    write_whole(file, b"old")
    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(StoreError, match=r"cannot write .*file: No space left on device\."):
        write_whole(file, b"new")
    assert file.read_bytes() == b"old"
    assert [*tmp_path.iterdir()] == [file]


def test_a_system_without_posix_locks_is_one_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fcntl", None)
    importlib.reload(files)  # only taking a lock needs them
    with pytest.raises(UsageError, match="pytest-ngraph measures on Linux and macOS"):
        files.take(0)


def test_a_user_without_a_home_gets_advice(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def unknown(uid: int) -> None:
        raise KeyError(uid)

    monkeypatch.delenv("HOME")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr("pwd.getpwuid", unknown)
    with pytest.raises(UsageError, match=r"has no home folder for caches\. Set XDG_CACHE_HOME"):
        user_folder()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert user_folder() == tmp_path / "pytest-ngraph"
    assert compiled_folder().parent == user_folder()
