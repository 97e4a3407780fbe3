"""A new anchor is measured once beside the one before it, for each case, so that its series goes on across the two."""

from __future__ import annotations

import json
import sys
import tempfile
from collections import defaultdict
from collections.abc import Collection, Sequence
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
        cases: the ids of the cases to measure: the earlier anchor was their last one.
    """

    new: str
    commit: str
    earlier: str
    earlier_commit: str
    cases: tuple[str, ...]

    @property
    def have_libraries(self) -> bool:
        """Whether one of them has libraries of its own, which a run of the new one beside the other cannot have."""
        return " " in self.commit or " " in self.earlier_commit


def changed(index: Index, new: str, commit: str, cases: Collection[str]) -> list[Anchors]:
    """Return the new anchor with each earlier one that some of these cases were last measured beside.

    Cases are left out that were measured beside the new one before, or whose link was.

    Args:
        index: of the store.
        new: the night's anchor, as shown to users.
        commit: its commit, as in `Anchors`.
        cases: the ids of the night's cases.
    """
    last = index.last_anchors(commit)
    by_anchor: dict[str, list[str]] = defaultdict(list)
    for case in cases:
        if case in last:
            by_anchor[last[case][1]].append(case)
    found = []
    for earlier_commit, own in by_anchor.items():
        known = index.links(commit, earlier_commit)
        if missing := tuple(case for case in own if case not in known):
            found.append(Anchors(new, commit, last[missing[0]][0], earlier_commit, missing))
    return found


def measure(
    anchors: Anchors, arguments: Sequence[str], folder: Path, rootdir: Path, store: Path, untracked: Sequence[str] = ()
) -> str:
    """Measure the new anchor's code beside that of the earlier one, and return what came of it, in a sentence.

    A pytest with the same arguments runs on the new anchor's files in a temporary worktree, and leaves only the cases
    that need it. Its failures fail nothing.

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
        count = len(index.links(anchors.commit, anchors.earlier_commit).intersection(anchors.cases))
    if not count:
        return f"{pair} could not be measured ({problem or 'no case has a ratio'}): {APART}."
    said = f"{pair} was measured once, for {counted(count, 'case')}: their series go on from anchor to anchor."
    if rest := len(anchors.cases) - count:
        said += f" {counted(rest, 'other case')} could not be measured ({problem or 'no ratio'}): {APART}."
    return said


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
            "cases": anchors.cases,
        }
        ended = run(STEP, tree.cwd, environment(tree), json.dumps(request))
    return reason(f"{ended.output}\n{ended.errors}") if ended.status else ""
