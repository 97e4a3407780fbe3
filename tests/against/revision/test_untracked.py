"""Files that git does not track are brought from the working tree, where they are asked for."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

import pytest
from repository import Repository
from synthetic import case

from pytest_ngraph.against.revision import Worktree, resolve
from pytest_ngraph.against.revision.untracked import libraries_of_head
from pytest_ngraph.artifact import Artifact
from pytest_ngraph.bench.beside_base.differing import Side, compared
from pytest_ngraph.comparison import Comparison
from pytest_ngraph.errors import UsageError
from pytest_ngraph.machine import source_files


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


@pytest.mark.parametrize("pattern", ["large", "large/", "large/first.pt", "large/*.pt", "."])
def test_a_folder_that_is_linked_from_elsewhere_is_linked(
    with_weights: Repository, tmp_path: Path, pattern: str
) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "first.pt").write_text("large")
    (with_weights.root / "large").symlink_to("../data")
    with Worktree(resolve("HEAD", with_weights.root), tmp_path, [pattern]) as tree:
        assert (tree.root / "large").readlink() == data
        assert (tree.root / "large" / "first.pt").read_text() == "large"
    assert (data / "first.pt").exists()


@pytest.mark.parametrize("pattern", ["models", "models/bert", "models/bert/first.pt"])
def test_a_repository_within_is_brought(with_weights: Repository, tmp_path: Path, pattern: str) -> None:
    (with_weights.root / "models").mkdir()
    within = Repository.create(with_weights.root / "models" / "bert")
    within.write(".gitignore", "*.pt\n")
    within.commit("of another project")
    within.write("first.pt", "bert")
    with Worktree(resolve("HEAD", with_weights.root), tmp_path, [pattern]) as tree:
        brought = tree.root / "models" / "bert"
        assert {file.name for file in brought.iterdir()} == {".gitignore", "first.pt"}
        (brought / "first.pt").write_text("changed")
    assert (within.root / "first.pt").read_text() == "bert"


@pytest.mark.parametrize("leads_to", ["../data.pt", "asr/first.pt"])
def test_a_linked_file_is_the_same_at_both_sides(
    with_weights: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, leads_to: str
) -> None:
    monkeypatch.setattr(source_files, "_foreign", lambda: ())  # here, the working tree is in a folder for such files
    (tmp_path / "data.pt").write_text("large")
    (with_weights.root / "latest.pt").symlink_to(leads_to)

    def side(root: Path) -> Side:
        files = source_files._of_user([str(root / "latest.pt")])
        artifact = Artifact(folder=tmp_path, case=case("identity"), digest="graph", files=files)
        return Side(case=case("identity"), artifact=artifact, runs_module=True)

    with Worktree(resolve("HEAD", with_weights.root), tmp_path, ["*.pt"]) as tree:
        head, base = side(with_weights.root), side(tree.root)
        assert head.artifact.own_files
        places = tree.root, with_weights.root.resolve()
        assert compared(Comparison(against="main"), head, base, instead_of=places).same


def test_what_cannot_be_brought_ends_it(with_weights: Repository, tmp_path: Path) -> None:
    """At the base, there is a file where the working tree has a folder."""
    with_weights.git("rm", "--quiet", "nets.py")
    with_weights.write("nets.py/first.pt", "")
    with pytest.raises(
        UsageError, match=r"--ngraph-untracked: nets.py/first.pt cannot be brought to the base: .*exists"
    ):
        Worktree(resolve("HEAD", with_weights.root), tmp_path, ["nets.py"]).__enter__()
    assert with_weights.worktrees() == 1


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


def test_a_library_that_is_the_heads_at_both_sides_is_noted_where_its_sources_differ(repository: Repository) -> None:
    """Equal graphs are unchanged although the library does other things."""
    for file in (".gitignore", "csrc/scale.c", "csrc/scale.h", "nets.py"):
        repository.write(file, "*.so*\n" if file == ".gitignore" else "")
    base = repository.commit("a library")
    for file in ("nets/_scale.abi3.so", "nets/libscale.so.1"):
        repository.write(file, "")
    repository.write("nets.py", "changed")
    given = ["nets"]
    assert libraries_of_head(given, repository.root, base) == ""
    repository.write("csrc/scale.c", "slower")
    note = (
        "Base and head both used nets/_scale.abi3.so, nets/libscale.so.1 of the working tree, which git does not "
        "track: changes of csrc/scale.c were not compared where a library is built from them."
    )
    assert libraries_of_head(given, repository.root, base) == note
    assert libraries_of_head([".gitignore"], repository.root, base) == "", "it was given no library"
