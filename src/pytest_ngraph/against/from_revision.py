"""A base from git: another revision of the repository that the run is in."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cached_property
from pathlib import Path

from pytest_ngraph.against import pairing, revision
from pytest_ngraph.against.origin import Found
from pytest_ngraph.against.revision import collecting
from pytest_ngraph.against.revision.submodules import is_of_repository, missing_submodules
from pytest_ngraph.against.revision.untracked import libraries_of_head, untracked_files
from pytest_ngraph.bench.processes.home import Home
from pytest_ngraph.case import Case
from pytest_ngraph.errors import UsageError
from pytest_ngraph.machine.imported_files import may_define
from pytest_ngraph.system.child import search_path
from pytest_ngraph.system.relocation import project_path
from pytest_ngraph.workloads import family
from pytest_ngraph.workloads.imported import Imported


class FromRevision:
    """A git revision as the base, checked out into a temporary worktree."""

    has_own_libraries = False

    def __init__(
        self,
        name: str,
        arguments: Sequence[str],
        folder: Path,
        rootdir: Path,
        tests: Iterable[str] = (),
        untracked: Sequence[str] = (),
        generated: Callable[[], Sequence[tuple[str, Case]]] = tuple,
    ) -> None:
        """Resolve the revision.

        Args:
            name: any git revision.
            arguments: the arguments of this run's pytest.
            folder: the folder in which pytest was started.
            rootdir: pytest's root folder.
            tests: the files and folders that pytest collects.
            untracked: patterns of files that git does not track, and that the revision's code reads.
            generated: returns all cases of the head's tests, selected or not, with the node ids of their functions.

        Raises:
            UsageError: the revision cannot be compared with, the tests lie outside its repository, or a pattern
                matches no file.
        """
        self._revision = revision.resolve(name, folder)
        _refuse_outside(self._revision.root, folder, tests)
        untracked_files(untracked, self._revision.root)  # a pattern that matches nothing ends the run here
        self._arguments = arguments
        self._rootdir = rootdir
        self._untracked = untracked
        self._generated = generated
        self._opened = ExitStack()

    @property
    def name(self) -> str:
        return str(self._revision)

    @property
    def commit(self) -> str:
        """The commit, in full."""
        return self._revision.sha

    @cached_property
    def identity(self) -> str:
        """The commit, and what else the base's files are made of: one that lacked a file may be given it later."""
        given = (f"with {pattern}" for pattern in sorted(self._untracked))
        lacking = (f"without {path}" for path in missing_submodules(self._revision.root, self._revision.sha))
        return ", ".join([self.name, *given, *lacking])

    @property
    def description(self) -> str:
        return self._revision.description

    def open(self, heads: Sequence[tuple[str, Case]]) -> Found:
        tree = revision.Worktree(self._revision, Path(tempfile.gettempdir()), self._untracked)
        self._opened.enter_context(tree)
        collection = collecting.collect(tree, self._arguments, rootdir=self._rootdir, sys_path=search_path())
        pairs = pairing.pair(heads, collection, self._generated(), _is_gone)
        return Found(
            bases=pairs.bases,
            home=Home(
                folder=tree.cwd,
                path=collection.path or tree.path(search_path(), self._rootdir),
                variables=tree.variables(os.environ),
            ),
            missing=list(pairs.missing),
            broken="" if all(collection.knows(nodeid) for nodeid, _ in heads) else collection.problem,
            problem="; ".join((*filter(None, [collection.problem]), *tree.missing_submodules)),
            note=libraries_of_head(self._untracked, self._revision.root, self._revision.sha),
            instead_of=(tree.root, self._revision.root),
            own_path=project_path([], self._revision.root, (self._revision.cwd, self._rootdir)),
            at_base=lambda case: collecting.at_base(case, tree),
        )

    @contextmanager
    def files(self) -> Iterator[Path]:
        """Yield the top folder of the revision's files, for a look at them. Raises what `revision.Worktree` raises."""
        with revision.Worktree(self._revision, Path(tempfile.gettempdir()), self._untracked) as tree:
            yield tree.root

    def close(self) -> None:
        self._opened.close()


def _is_gone(workload: str) -> bool:
    """Return whether a workload names a function that is surely not defined where it was: in its module here."""
    module, _, name = workload.partition(":")
    return isinstance(family(workload), Imported) and not may_define(module, name.partition(".")[0])


def _refuse_outside(root: Path, folder: Path, tests: Iterable[str]) -> None:
    """Raise `UsageError` for tests that are not of the repository.

    Outside of it they are the same at every revision, and would all be unchanged. In a repository within it they are at
    no revision, and would all be new.
    """
    for test in tests:
        place = (folder / test.partition("::")[0]).resolve()
        if not place.exists():  # it may be a module's name
            continue
        if not place.is_relative_to(root):
            why = "would be compared with themselves"
        elif not is_of_repository(place if place.is_dir() else place.parent, root):
            why = "are at none of them"
        else:
            continue
        raise UsageError(
            f"{place} is not in {root}, the repository of the current folder, whose revisions are compared: these "
            f"tests {why}. Run pytest in the repository of the tests."
        )
