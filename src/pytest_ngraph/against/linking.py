"""A new anchor is measured once beside the one before it, so that the series of a history go on across the two."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from pytest_ngraph.against.revision import Worktree, resolve
from pytest_ngraph.against.revision.collecting import environment, moved_argument, reason
from pytest_ngraph.errors import NgraphError
from pytest_ngraph.history.index import Index
from pytest_ngraph.system.child import command, search_path
from pytest_ngraph.system.command import run
from pytest_ngraph.wording import counted

STEP = command(sys.executable, "pytest_ngraph.plugin.link_step")
APART = "no step is looked for between nights beside different anchors"


class Anchors(NamedTuple):
    """A new anchor and the one before it.

    Attributes:
        new: as shown to users.
        commit: the new anchor's commit; with libraries of its own, and a digest of these.
        earlier: name of the one before.
        earlier_commit: what distinguishes it, as `commit`.
    """

    new: str
    commit: str
    earlier: str
    earlier_commit: str

    @property
    def have_libraries(self) -> bool:
        """Whether one of them has libraries of its own, which a run of the new one beside the other cannot have."""
        return " " in self.commit or " " in self.earlier_commit


def changed(index: Index, new: str, commit: str) -> Anchors | None:
    """Return the anchors where a night begins a new one that was not measured beside the last one; else None.

    Args:
        index: of the store.
        new: the night's anchor, as shown to users.
        commit: its commit, as in `Anchors`.
    """
    last = index.last_anchored()
    if last is None or index.has_anchor(commit) or index.links(commit, last.anchor_commit):
        return None
    return Anchors(new, commit, last.anchor, last.anchor_commit)


def measure(
    anchors: Anchors, arguments: Sequence[str], folder: Path, rootdir: Path, store: Path, untracked: Sequence[str] = ()
) -> str:
    """Measure the cases of the new anchor beside the earlier one, and return what came of it, in a sentence.

    A pytest with the same arguments runs on the new anchor's files in a temporary worktree. Its failures fail nothing.

    Args:
        arguments: those of this run's pytest.
        folder: the folder in which pytest was started.
        rootdir: pytest's root folder.
        store: where the records go.
        untracked: patterns of files that git does not track, and that the anchors' code reads.
    """
    pair = f"{anchors.new} beside {anchors.earlier}"
    if anchors.have_libraries:
        return (
            f"{anchors.new} was not measured beside {anchors.earlier}: an anchor with libraries of its own is linked "
            "only by a commit that is measured beside both. Run this night once more, with the earlier anchor; until "
            f"then, {APART}."
        )
    try:
        problem = _measured(anchors, arguments, folder, rootdir, store, untracked)
    except NgraphError as error:
        problem = str(error)
    with Index(store) as index:
        index.update()
        count = index.links(anchors.commit, anchors.earlier_commit)
    if count:
        return f"{pair} was measured once, for {counted(count, 'case')}: their series go on from anchor to anchor."
    return f"{pair} could not be measured ({problem or 'no case has a ratio'}): {APART}."


def _measured(
    anchors: Anchors, arguments: Sequence[str], folder: Path, rootdir: Path, store: Path, untracked: Sequence[str]
) -> str:
    """Run pytest on the new anchor's files. Return its error, if it has one."""
    with (
        Worktree(resolve(anchors.commit, folder), Path(tempfile.gettempdir()), untracked) as tree,
        tempfile.TemporaryDirectory(prefix="ngraph-link-") as scratch,
    ):
        request = {
            "path": tree.path(search_path(), rootdir),
            "arguments": [
                f"--rootdir={tree.to_base(str(rootdir))}",
                f"--override-ini=cache_dir={scratch}/cache",
                *(moved_argument(argument, tree.to_base) for argument in arguments),
                f"--ngraph-history={anchors.earlier_commit}",
                f"--ngraph-store={store.resolve()}",
            ],
        }
        ended = run(STEP, tree.cwd, environment(tree), json.dumps(request))
    return reason(f"{ended.output}\n{ended.errors}") if ended.status else ""
