"""Files that git does not track are brought from the working tree, where they are asked for."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

import pytest
from repository import Repository

from pytest_ngraph.against.revision import Worktree, resolve
from pytest_ngraph.errors import UsageError


@pytest.fixture
def with_weights(repository: Repository) -> Repository:
    """`.gitignore` names weights; some lie in a folder of their own, and some are new to git."""
    repository.write(".gitignore", "*.pt\n")
    repository.commit("ignore weights")
    for file in ("asr/first.pt", "asr/second.pt", "data/vocabulary.txt"):
        repository.write(file, file)
    return repository


def _files(root: Path) -> set[str]:
    return {str(file.relative_to(root)) for file in root.rglob("*") if file.is_file()}


@pytest.mark.parametrize(
    ("patterns", "expected"),
    [
        ((), set()),
        (("asr/first.pt",), {"asr/first.pt"}),
        (("*.pt",), {"asr/first.pt", "asr/second.pt"}),
        (("asr", "data/*.txt"), {"asr/first.pt", "asr/second.pt", "data/vocabulary.txt"}),
    ],
)
def test_those_that_match_are_there(
    patterns: tuple[str, ...], expected: set[str], with_weights: Repository, tmp_path: Path
) -> None:
    with Worktree(resolve("HEAD", with_weights.root), tmp_path, patterns) as tree:
        brought = {file for file in _files(tree.root) if file.startswith(("asr/", "data/"))}
        assert brought == expected
        assert all((tree.root / file).read_text() == file for file in expected)
    assert (with_weights.root / "asr" / "first.pt").read_text() == "asr/first.pt"


def test_what_git_tracks_stays_as_it_was(with_weights: Repository, tmp_path: Path) -> None:
    with_weights.write("nets.py", "REVISION = 'second'\n")
    with Worktree(resolve("HEAD", with_weights.root), tmp_path, ["nets.py"]) as tree:
        assert (tree.root / "nets.py").read_text() == "REVISION = 'first'\n"


@pytest.mark.parametrize("shares_blocks", [True, False])
def test_what_a_revision_writes_to_them_stays_in_its_worktree(
    with_weights: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, shares_blocks: bool
) -> None:
    """Whether their file system has files that share blocks until they are written to, or not."""

    def clone(target: BinaryIO, _: int, source: int) -> None:
        if not shares_blocks:
            raise OSError(errno.EXDEV, "Invalid cross-device link")
        target.write(os.pread(source, 100, 0))

    monkeypatch.setattr("fcntl.ioctl", clone)
    file = with_weights.root / "asr" / "first.pt"
    file.chmod(0o640)
    with Worktree(resolve("HEAD", with_weights.root), tmp_path, ["asr"]) as tree:
        brought = tree.root / "asr" / "first.pt"
        assert (brought.read_text(), stat.S_IMODE(brought.stat().st_mode)) == ("asr/first.pt", 0o640)
        brought.write_text("changed")
    assert file.read_text() == "asr/first.pt"


@pytest.mark.parametrize("pattern", ["asr/*.onnx", "../elsewhere"])
def test_a_pattern_that_finds_nothing_ends_it(pattern: str, with_weights: Repository, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--ngraph-untracked="):
        Worktree(resolve("HEAD", with_weights.root), tmp_path, [pattern]).__enter__()
    assert with_weights.worktrees() == 1
