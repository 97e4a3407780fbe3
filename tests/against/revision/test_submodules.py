"""Submodules come from the working tree's clones; missing ones are reported."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import pytest
from repository import Repository

from pytest_ngraph.against.revision import Worktree, resolve
from pytest_ngraph.against.revision.submodules import missing_submodules


@pytest.fixture
def with_submodules(repository: Repository, tmp_path: Path) -> Repository:
    """`lib` is a submodule, with `inner` as its own; both checked out."""
    inner = Repository.create(tmp_path / "inner")
    inner.write("weights.txt", "1")
    inner.commit("inner")
    library = Repository.create(tmp_path / "library")
    library.git("submodule", "--quiet", "add", str(inner.root), "inner")
    library.write("lib.py", "REVISION = 'first'\n")
    library.commit("library")
    repository.git("submodule", "--quiet", "add", str(library.root), "lib")
    repository.git("submodule", "--quiet", "update", "--init", "--recursive")
    repository.commit("with a library")
    return repository


def test_they_are_checked_out_at_their_commits(with_submodules: Repository, tmp_path: Path) -> None:
    submodule = Repository(with_submodules.root / "lib")
    submodule.write("lib.py", "REVISION = 'second'\n")
    submodule.commit("second")
    configuration = (with_submodules.root / ".git" / "config").read_text()
    with Worktree(resolve("HEAD", with_submodules.root), tmp_path) as worktree:
        assert (worktree.root / "lib" / "lib.py").read_text() == "REVISION = 'first'\n"
        assert (worktree.root / "lib" / "inner" / "weights.txt").read_text() == "1"
        assert not worktree.missing_submodules
        assert not [*missing_submodules(with_submodules.root, worktree.revision.sha)]
    assert not worktree.root.exists()
    assert with_submodules.worktrees() == 1
    assert (with_submodules.root / ".git" / "config").read_text() == configuration


def test_one_that_is_not_here_is_reported(with_submodules: Repository, tmp_path: Path) -> None:
    with_submodules.git("submodule", "--quiet", "deinit", "--force", "lib")
    with Worktree(resolve("HEAD", with_submodules.root), tmp_path) as worktree:
        (text,) = worktree.missing_submodules
        assert text.startswith("submodule lib is empty")
        assert "git submodule update --init lib" in text
        assert [*missing_submodules(with_submodules.root, worktree.revision.sha)] == ["lib"]


@pytest.mark.parametrize("depth", [["--depth=1"], []])
def test_one_whose_clone_lacks_the_commit_is_reported_with_what_gets_it(
    repository: Repository, tmp_path: Path, depth: list[str]
) -> None:
    """`git submodule update` would get the head's commit. Of a shallow clone, no branch leads to an earlier one."""
    library = Repository.create(tmp_path / "library")
    library.write("lib.py", "REVISION = 'first'\n")
    library.commit("first")
    repository.git("submodule", "--quiet", "add", f"file://{library.root}", "lib")
    base = repository.commit("with a library")
    library.git("checkout", "--quiet", "--orphan", "rewritten")
    library.write("lib.py", "REVISION = 'second'\n")
    library.commit("second")
    submodule = Repository(repository.root / "lib")
    submodule.git("fetch", "--quiet", "origin", "rewritten")
    submodule.git("checkout", "--quiet", "FETCH_HEAD")
    repository.commit("another version")
    head = Repository.create(tmp_path / "clone")
    head.git("pull", "--quiet", str(repository.root), "main")
    options = [*depth, "--single-branch", "--branch=rewritten"]
    head.git("clone", "--quiet", *options, f"file://{library.root}", str(head.root / "lib"))
    with Worktree(resolve(base, head.root), tmp_path) as worktree:
        (text,) = worktree.missing_submodules
    advice = text.partition("Get it: ")[2]
    assert advice.startswith("git -C ")
    subprocess.run(shlex.split(advice), cwd=tmp_path, check=True, capture_output=True)
    with Worktree(resolve(base, head.root), tmp_path) as worktree:
        assert not worktree.missing_submodules
        assert (worktree.root / "lib" / "lib.py").read_text() == "REVISION = 'first'\n"
    candidate = Worktree(resolve("HEAD", head.root), tmp_path)  # a bisection compares from one worktree to another
    with candidate, Worktree(resolve(base, candidate.root), tmp_path) as worktree:
        assert not worktree.missing_submodules
        assert (worktree.root / "lib" / "lib.py").read_text() == "REVISION = 'first'\n"
        assert (candidate.root / "lib" / "lib.py").read_text() == "REVISION = 'second'\n"


def test_one_of_a_submodule_is_reported_too(with_submodules: Repository, tmp_path: Path) -> None:
    library = Repository(with_submodules.root / "lib")
    library.git("submodule", "--quiet", "deinit", "--force", "inner")
    with Worktree(resolve("HEAD", with_submodules.root), tmp_path) as worktree:
        assert [text.partition(" at ")[0] for text in worktree.missing_submodules] == ["submodule inner is empty"]
        assert [*missing_submodules(with_submodules.root, worktree.revision.sha)] == ["lib/inner"]
