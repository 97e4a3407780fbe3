from __future__ import annotations

import errno
import importlib
import os
import stat
import sys
from pathlib import Path

import pytest

from pytest_ngraph.errors import StoreError, UsageError
from pytest_ngraph.system import files
from pytest_ngraph.system.files import (
    append,
    compiled_folder,
    make_private,
    state_folder,
    sync_folder,
    user_folder,
    write_whole,
)


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


def test_a_line_is_appended_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a disk that is full, a write may take a part of it without an error."""
    path, write = tmp_path / "log", os.write
    append(path, "one")
    monkeypatch.setattr(os, "write", lambda file, text: write(file, text[: len(text) // 2]))
    with pytest.raises(OSError, match="No space left"):
        append(path, "two of three")
    monkeypatch.undo()
    append(path, "three")
    assert path.read_text() == "one\nthree\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_line_that_was_cut_short_costs_no_other(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("one\ntw")
    append(path, "three")
    assert path.read_text() == "one\ntw\nthree\n"


@pytest.mark.parametrize("umask", [0o000, 0o002, 0o022, 0o277])
def test_private_folders_are_private_whatever_the_umask(umask: int, tmp_path: Path) -> None:
    before = os.umask(umask)
    try:
        make_private(tmp_path / "made" / "inside")
        make_private(tmp_path / "made" / "inside")
    finally:
        os.umask(before)
    assert [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("made", "made/inside")] == [0o700, 0o700]


def test_a_folder_that_exists_keeps_its_mode(tmp_path: Path) -> None:
    tmp_path.chmod(0o750)
    make_private(tmp_path / "new")
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o750


def test_a_file_is_no_private_folder(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError):
        make_private(tmp_path / "file")


def test_a_folder_is_synced_where_the_file_system_can(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    monkeypatch.setattr("os.fsync", synced.append)
    sync_folder(tmp_path)
    assert len(synced) == 1

    def fail(number: int) -> None:
        def fsync(descriptor: int) -> None:
            raise OSError(number, os.strerror(number))

        monkeypatch.setattr("os.fsync", fsync)

    fail(errno.EINVAL)
    sync_folder(tmp_path)
    fail(errno.EIO)
    with pytest.raises(OSError, match=os.strerror(errno.EIO)):
        sync_folder(tmp_path)


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
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.setattr("pwd.getpwuid", unknown)
    with pytest.raises(UsageError, match=r"has no home folder for certificates .*\. Set XDG_STATE_HOME"):
        state_folder()
    with pytest.raises(UsageError, match=r"has no home folder for caches\. Set XDG_CACHE_HOME"):
        user_folder()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert user_folder() == tmp_path / "pytest-ngraph"
    assert compiled_folder().parent == user_folder()


def test_code_that_has_only_a_name_is_where_the_process_is_now(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As that of `torch.ops`, which forked workers have from a process in another folder."""
    for folder in (tmp_path / "head", tmp_path / "base"):
        folder.mkdir()
        monkeypatch.chdir(folder)
        assert files.resolved_code("_ops.py") == str(folder / "_ops.py")
