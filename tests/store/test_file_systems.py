"""Stores on file systems that lack what a journal needs: locks, and waiting until a folder is on disk."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from synthetic import case, measured

from pytest_ngraph import store
from pytest_ngraph.errors import StoreError
from pytest_ngraph.store import Journal, baselines
from pytest_ngraph.store.run import is_live

Refuse = Callable[[int], None]


@pytest.fixture
def without_locks(monkeypatch: pytest.MonkeyPatch) -> Refuse:
    """Return a function after which no file can be locked, with this number of an error."""

    def refuse(number: int) -> None:
        def flock(descriptor: int, operation: int) -> None:
            raise OSError(number, os.strerror(number))

        monkeypatch.setattr(fcntl, "flock", flock)

    return refuse


@pytest.fixture
def without_folder_sync(monkeypatch: pytest.MonkeyPatch) -> Refuse:
    """Return a function after which syncing a folder, but no file, fails with this number of an error."""
    real = os.fsync

    def refuse(number: int) -> None:
        def fsync(descriptor: int) -> None:
            if stat.S_ISDIR(os.fstat(descriptor).st_mode):
                raise OSError(number, os.strerror(number))
            real(descriptor)

        monkeypatch.setattr(os, "fsync", fsync)

    return refuse


@pytest.mark.parametrize("number", [errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP])
def test_a_store_without_locks_is_refused_before_anything_is_measured(
    number: int, tmp_path: Path, without_locks: Refuse
) -> None:
    without_locks(number)
    with pytest.raises(StoreError, match=r"has no file locks \(.*\).*Give a folder on another .*--ngraph-store=DIR"):
        store.check_writable(tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("number", [errno.ENOSYS, errno.EIO])
def test_a_run_that_cannot_be_locked_is_not_left_half_made(number: int, tmp_path: Path, without_locks: Refuse) -> None:
    without_locks(number)
    with pytest.raises(StoreError, match="cannot write to the store"):
        Journal(tmp_path, {}).append(measured(case("identity"), 0.1))
    assert store.run_ids(tmp_path) == []


def test_a_run_whose_folder_fails_to_sync_is_not_left_half_made(tmp_path: Path, without_folder_sync: Refuse) -> None:
    without_folder_sync(errno.EIO)
    with pytest.raises(StoreError, match="cannot write to the store"):
        Journal(tmp_path, {}).append(measured(case("identity"), 0.1))
    assert store.run_ids(tmp_path) == []


def test_a_file_system_that_cannot_sync_folders_keeps_runs(tmp_path: Path, without_folder_sync: Refuse) -> None:
    without_folder_sync(errno.EINVAL)
    store.check_writable(tmp_path)
    journal = Journal(tmp_path, {})
    journal.append(measured(case("identity"), 0.1))
    journal.end(whole=True)
    assert len(store.read(tmp_path).records) == 1


def test_runs_that_were_copied_to_a_file_system_without_locks_are_read(tmp_path: Path, without_locks: Refuse) -> None:
    journal = Journal(tmp_path, {})
    journal.append(measured(case("identity"), 0.1))
    journal.close()
    without_locks(errno.ENOSYS)
    assert not is_live(tmp_path, journal.id)
    assert store.unfinished(tmp_path) == journal.id
    without_locks(errno.EIO)
    with pytest.raises(StoreError, match="cannot read"):
        is_live(tmp_path, journal.id)


@pytest.mark.parametrize("umask", [0o000, 0o002])
def test_baselines_are_private_whatever_the_umask(umask: int, tmp_path: Path) -> None:
    before = os.umask(umask)
    try:
        journal = Journal(tmp_path, {})
        journal.append(measured(case("identity"), 0.1))
        journal.end(whole=True)
        baselines.keep(tmp_path, "v1", journal.id)
        baselines.export(tmp_path, "v1", tmp_path / "exported")
        baselines.import_from(tmp_path / "exported", tmp_path / "other", "v1")
    finally:
        os.umask(before)
    folders = [folder / name for folder in (tmp_path, tmp_path / "other") for name in ("baselines", "baselines/v1")]
    assert {stat.S_IMODE(folder.stat().st_mode) for folder in folders} == {0o700}
