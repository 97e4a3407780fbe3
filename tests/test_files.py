from __future__ import annotations

import stat
from pathlib import Path

import pytest

from pytest_ngraph.errors import StoreError
from pytest_ngraph.system.files import write_whole


def test_a_file_is_this_users_only_and_nothing_else_is_left(tmp_path: Path) -> None:
    file = tmp_path / "folder" / "file"
    write_whole(file, b"old")
    write_whole(file, b"new")
    assert file.read_bytes() == b"new"
    assert [*file.parent.iterdir()] == [file]
    assert {stat.S_IMODE(path.stat().st_mode) for path in (file, file.parent)} == {0o600, 0o700}


def test_what_cannot_be_replaced_stays_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    file = tmp_path / "file"
    write_whole(file, b"old")
    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(StoreError, match=r"cannot write .*file: No space left on device\."):
        write_whole(file, b"new")
    assert file.read_bytes() == b"old"
    assert [*tmp_path.iterdir()] == [file]
