"""A base from git: another revision of the repository that the run is in."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from pytest_ngraph import basecases, pairing, revision
from pytest_ngraph.against import Found
from pytest_ngraph.bench.process import Home
from pytest_ngraph.case import Case


class FromRevision:
    """name: any git revision. arguments: those of this run's pytest. folder: where it was started. rootdir: pytest's.
    Raises `UsageError` for a revision that cannot be compared with."""

    def __init__(self, name: str, arguments: Sequence[str], folder: Path, rootdir: Path) -> None:
        self._revision = revision.resolve(name, folder)
        self._arguments = arguments
        self._rootdir = rootdir
        self._opened = ExitStack()

    @property
    def name(self) -> str:
        return str(self._revision)

    @property
    def description(self) -> str:
        return self._revision.description

    def open(self, heads: Sequence[tuple[str, Case]]) -> Found:
        tree = self._opened.enter_context(revision.Worktree(self._revision, Path(tempfile.gettempdir())))
        collection = basecases.collect(tree, self._arguments, rootdir=self._rootdir, sys_path=sys.path)
        pairs = pairing.pair(heads, collection)
        return Found(
            bases=pairs.bases,
            home=Home(folder=tree.cwd, path=tree.path(sys.path)),
            missing=list(pairs.missing),
            problem="; ".join((*filter(None, [collection.problem]), *tree.missing_submodules)),
            instead_of=(tree.root, self._revision.root),
            at_base=lambda case: basecases.at_base(case, tree),
        )

    def close(self) -> None:
        self._opened.close()
