"""Headers that Inductor precompiles are kept from one session to the next."""

from __future__ import annotations

import os
import time
from pathlib import Path
from unittest.mock import patch

import pytest
from torch._inductor import codecache

from pytest_ngraph.compilers.inductor import headers


@pytest.fixture(autouse=True)
def users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the user's caches."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "users"))
    return tmp_path / "users"


@pytest.fixture
def sessions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The folders in which two sessions precompile; the first one is under way."""
    folders = [tmp_path / "first", tmp_path / "second"]
    monkeypatch.setattr(codecache, "_HEADER_DIR", str(folders[0]))
    return folders


def precompile(folder: Path, name: str = "c1") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.h").write_text("#include <torch.h>")
    (folder / f"{name}.h.gch").write_text(f"{name} compiled")


def test_the_next_session_finds_what_one_has_precompiled(
    sessions: list[Path], monkeypatch: pytest.MonkeyPatch, users: Path
) -> None:
    first, second = sessions
    with headers.kept():
        precompile(first)
    monkeypatch.setattr(codecache, "_HEADER_DIR", str(second))
    with headers.kept():
        assert [(file.name, file.read_text()) for file in second.iterdir()] == [("c1.h.gch", "c1 compiled")]
    assert [file.stat().st_mode & 0o077 for file in (users / "pytest-ngraph").iterdir()] == [0]


def test_what_a_failed_build_leaves_is_not_kept(sessions: list[Path], users: Path) -> None:
    def fail() -> None:
        with headers.kept():
            precompile(sessions[0])
            raise ValueError("killed")

    with pytest.raises(ValueError, match="killed"):
        fail()
    assert not list(users.rglob("*.gch"))


def test_headers_that_nobody_used_for_a_month_are_removed(sessions: list[Path], users: Path) -> None:
    with headers.kept():
        for name in ("used", "unused"):
            precompile(sessions[0], name)
    kept = {file.name: file for file in users.rglob("*.gch")}
    for file in kept.values():
        os.utime(file, (0, time.time() - headers.UNUSED_S - 60))
    (sessions[0] / "unused.h.gch").unlink()
    with headers.kept():
        (sessions[0] / "unused.h.gch").unlink()
    assert {file.name for file in users.rglob("*.gch")} == {"used.h.gch"}


def test_on_another_file_system_they_are_copied(sessions: list[Path], users: Path) -> None:
    with patch.object(Path, "hardlink_to", side_effect=OSError), headers.kept():
        precompile(sessions[0])
    assert [file.read_text() for file in users.rglob("*.gch")] == ["c1 compiled"]


@pytest.mark.parametrize("users_cache", ["/dev/null", "/proc/nowhere"])
def test_without_a_folder_to_keep_them_they_are_compiled_again(
    users_cache: str, sessions: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", users_cache)
    with headers.kept():
        precompile(sessions[0])
    assert (sessions[0] / "c1.h.gch").read_text() == "c1 compiled"


def test_a_version_of_pytorch_that_keeps_them_elsewhere_is_left_alone(
    monkeypatch: pytest.MonkeyPatch, users: Path
) -> None:
    monkeypatch.delattr(codecache, "_HEADER_DIR")
    with headers.kept():
        pass
    assert not users.exists()
