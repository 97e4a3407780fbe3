from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import nights
import pytest
from repository import Repository

from pytest_ngraph.against import anchor
from pytest_ngraph.against.anchor import Anchor, WithLibraries, chosen_before
from pytest_ngraph.against.from_revision import FromRevision
from pytest_ngraph.against.interpreter import FromInterpreter
from pytest_ngraph.against.options import GateOptions
from pytest_ngraph.against.revision import source_of
from pytest_ngraph.errors import UsageError
from pytest_ngraph.gate.rule import LOOKS
from pytest_ngraph.system.installed import OWN, library_versions
from pytest_ngraph.system.relocation import STANDARD_LIBRARY

OPTIONS = GateOptions(history=True)


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    made = Repository.create(tmp_path / "project")
    made.write("net.py", "")
    made.commit("first")
    return made


def revision(repository: Repository, name: str = "main") -> FromRevision:
    return FromRevision(name, [], repository.root, repository.root)


def interpreter(folder: Path, torch: str) -> FromInterpreter:
    path = folder / "python"
    versions = json.dumps(["/another/site-packages", {"torch": torch, OWN: library_versions()[OWN]}])
    path.write_text(f"#!/bin/sh\necho '{versions}'\n")
    path.chmod(0o755)
    return FromInterpreter(str(path), folder)


def test_the_anchor_is_that_of_the_last_night_or_the_last_tag(repository: Repository) -> None:
    with pytest.raises(UsageError, match="--ngraph-history has no anchor"):
        chosen_before(None, repository.root)
    repository.git("tag", "v1")
    assert chosen_before(None, repository.root) == "v1"
    commit = repository.git("rev-parse", "HEAD")
    night = nights.row(0, 0.0)._replace(anchor="v1", anchor_commit=commit)
    assert chosen_before(night, repository.root) == "v1"
    assert chosen_before(night._replace(anchor_commit=f"{commit} 0a1b"), repository.root) == "v1", "own libraries"
    assert chosen_before(night._replace(anchor="v0", anchor_commit=""), repository.root) == "v0"


def test_an_anchor_whose_name_means_another_commit_today_is_named_by_its_commit(repository: Repository) -> None:
    first = repository.git("rev-parse", "HEAD")
    night = nights.row(0, 0.0)._replace(anchor="main", anchor_commit=first)
    assert chosen_before(night, repository.root) == "main"
    repository.write("net.py", "changed")
    repository.commit("second")
    assert chosen_before(night, repository.root) == first
    assert chosen_before(night._replace(anchor="a-tag-that-was-removed"), repository.root) == first


def test_the_source_is_the_commit_and_its_branch(repository: Repository, tmp_path: Path) -> None:
    commit = repository.git("rev-parse", "HEAD")
    assert source_of(repository.root) == {"commit": commit, "branch": "main"}
    repository.write("net.py", "changed")
    assert source_of(repository.root) == {"commit": f"{commit}+", "branch": "main"}
    repository.git("checkout", "--quiet", "--detach", "--force")
    assert source_of(repository.root) == {"commit": commit}
    assert source_of(tmp_path) == {}


def test_it_is_decided_by_how_sure_the_ratio_is_and_not_by_what_it_is(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    beside = Anchor(revision(repository), "main", OPTIONS)
    commit = repository.git("rev-parse", "HEAD")
    assert beside.source == {"anchor": "main", "anchor commit": commit}
    for ratio in (0.5, 1.0, 1.03, 2.0):
        assert beside.is_decided(nights.compared(ratio, noise=0.001))
        assert not beside.is_decided(nights.compared(ratio, noise=0.2))
    monkeypatch.setattr(anchor, "is_spent", lambda launches, rule: True)
    assert beside.is_decided(nights.compared(1.0, noise=0.2))


def test_where_the_compiler_searches_it_is_decided_by_fresh_launches(repository: Repository) -> None:
    """One launch with the searches of the cache shows their luck, and all later nights would have the same."""
    beside = Anchor(revision(repository), "main", OPTIONS)
    sure = nights.compared(1.0, noise=0.001)
    cached, fresh = sure.launches
    for count in range(LOOKS[0]):
        searched = dataclasses.replace(sure, searched=True, launches=(cached, *[fresh] * count))
        assert not beside.is_decided(searched)
        assert beside.is_decided(dataclasses.replace(searched, searched=False))
    enough = [fresh] * LOOKS[0]
    assert beside.is_decided(dataclasses.replace(sure, searched=True, launches=(cached, *enough)))
    unlike = nights.compared(1.3, noise=0.001).launches[0]
    assert beside.is_decided(dataclasses.replace(sure, searched=True, launches=(unlike, *enough)))


def test_nothing_fails() -> None:
    for name in ("regressed", "lost", "inconclusive"):
        assert OPTIONS.policy(name, broken=False) == "pass"
    assert OPTIONS.policy("inconclusive", broken=True) == "warn", "an anchor that no longer builds is noticed"
    assert OPTIONS.measures_base
    assert OPTIONS.compares_with_other_code


def test_an_anchor_may_have_libraries_of_its_own(repository: Repository, tmp_path: Path) -> None:
    origin = WithLibraries(revision(repository), interpreter(tmp_path, "2.13.0"))
    found = origin.open([])
    assert found.instead_of is not None
    tree, root = found.instead_of
    try:
        assert root == repository.root
        assert found.home.python == str(tmp_path / "python")
        assert found.home.path
        own = [entry for entry in found.home.path if entry != STANDARD_LIBRARY]
        assert all(Path(entry).is_relative_to(tree) for entry in own), "else the head's code or libraries"
        assert found.home.path.index(STANDARD_LIBRARY) < found.home.path.index(str(tree))
        assert found.measures_equals
        assert "torch 2.13.0 -> " in origin.description
    finally:
        origin.close()
    assert repository.worktrees() == 1
    assert WithLibraries(revision(repository), interpreter(tmp_path, "2.14.0")).commit != origin.commit
