"""A revision as the base: which tests it accepts."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
from repository import Repository

from pytest_ngraph.against.from_revision import FromRevision
from pytest_ngraph.against.live import LiveBase
from pytest_ngraph.against.options import GateOptions
from pytest_ngraph.errors import UsageError


def test_tests_of_another_repository_are_refused(
    repository: Repository, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They would be collected from their own place, and compared with themselves."""
    pytester.makepyfile("def test_it(): ...")
    ini = pytester.makefile(".ini", pytest="[pytest]")
    monkeypatch.chdir(repository.root)
    result = pytester.runpytest("-c", ini, pytester.path, "--ngraph-against=main")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        [f"ERROR: {pytester.path} is not in {repository.root}, the repository of the current *"]
    )


def test_tests_behind_a_link_are_refused_too(repository: Repository, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (repository.root / "linked").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match=r"elsewhere is not in .*project, the repository of the current folder"):
        FromRevision("main", [], repository.root, repository.root, ["tests", "linked"])


def test_tests_of_a_repository_within_are_refused(repository: Repository) -> None:
    """A workspace ignores the clones in it: no revision of the workspace has their tests, and all would be new."""
    repository.write(".gitignore", "inner\n")
    Repository.create(repository.root / "inner").write("tests/test_it.py", "")
    for test in ("inner", "inner/tests/test_it.py::test_it"):
        with pytest.raises(UsageError, match=r"inner.* is not in .*project, .* are at none of them. Run pytest in"):
            FromRevision("main", [], repository.root, repository.root, ["tests", test])


def test_tests_of_a_submodule_are_accepted(repository: Repository, tmp_path: Path) -> None:
    for name, within in (("middle", "inner"), ("project", "middle")):
        other = Repository.create(tmp_path / within)
        other.write("tests/test_it.py", "")
        other.commit("tests")
        Repository.create(tmp_path / name).git("submodule", "--quiet", "add", str(other.root), within)
    repository.git("submodule", "--quiet", "update", "--init", "--recursive")
    for test in ("middle", "middle/inner/tests/test_it.py"):
        opened = FromRevision("main", [], repository.root, repository.root, [test])
        assert opened.commit == repository.git("rev-parse", "main").strip()


def test_a_project_in_a_repository_of_several_is_imported_from_its_own_folder(repository: Repository) -> None:
    repository.write("ml/pyproject.toml", "")
    repository.commit("another project")
    with closing(FromRevision("main", [], repository.root, repository.root / "ml")) as base:
        found = base.open([])
        assert found.instead_of is not None
        root = repository.root.resolve()
        assert found.own_path == [root / "ml" / "src", root / "ml", root / "src", root]
        moved = [str(found.instead_of[0] / folder.relative_to(root)) for folder in found.own_path]
        assert [entry for entry in found.home.path or () if entry in moved] == moved


def test_what_else_its_files_are_made_of_distinguishes_it(repository: Repository) -> None:
    repository.write("weights.pt", "")
    plain = FromRevision("main", [], repository.root, repository.root)
    given = FromRevision("main", [], repository.root, repository.root, untracked=["weights.pt"])
    assert (plain.identity, given.identity) == (plain.name, f"{plain.name}, with weights.pt")


def test_the_end_of_the_run_says_which_libraries_were_not_compared(repository: Repository) -> None:
    repository.write("csrc/scale.c", "")
    repository.commit("a library")
    for file in ("csrc/scale.c", "_scale.so"):
        repository.write(file, "slower")
    origin = FromRevision("main", [], repository.root, repository.root, untracked=["_scale.so"])
    with closing(LiveBase(origin, GateOptions(against="main"))) as run:
        run.open([])
        assert [note.partition(", which")[0] for note in run.notes] == [
            "Base and head both used _scale.so of the working tree"
        ]


@pytest.mark.parametrize("test", ["tests/deep/test_deep.py::test[a::b]", "{root}", "{linked}/tests", "module.of.tests"])
def test_tests_of_the_repository_are_accepted(repository: Repository, tmp_path: Path, test: str) -> None:
    """Wherever pytest's root folder is, and also through a link."""
    linked = tmp_path / "linked"
    linked.symlink_to(repository.root)
    by_link = FromRevision("main", [], linked, tmp_path, [test.format(root=repository.root, linked=linked)])
    from_within = FromRevision("main", [], repository.root / "tests", tmp_path, ["deep/test_deep.py"])
    assert by_link.name == from_within.name
    assert by_link.name.startswith("main at ")
