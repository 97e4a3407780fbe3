"""The commits between a good and a bad revision."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pytest_ngraph.against.revision import Revision, resolve
from pytest_ngraph.against.revision.worktree import remove_left_over
from pytest_ngraph.bisect.graph import Graph, Point
from pytest_ngraph.bisect.options import Asked
from pytest_ngraph.bisect.revision_gate import RevisionGate
from pytest_ngraph.errors import UsageError
from pytest_ngraph.system.git import answers, git
from pytest_ngraph.wording import counted


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """What users know a commit by."""

    sha: str
    short: str
    author: str
    date: str
    subject: str

    @property
    def text(self) -> str:
        """The commit in one line."""
        return f"{self.short} {self.date} {self.author}: {self.subject}"


class Commits:
    """The commits between a good and a bad one: those that the bad one contains and the good one does not."""

    noun = "commit"

    def __init__(self, good: Revision, bad: Revision, graph: Graph) -> None:
        self.good = good.sha
        self.bad = bad.sha
        self.graph = graph
        self._revision = bad

    @property
    def ends(self) -> Mapping[str, str]:
        """The ends, whatever branches name later."""
        return {"good": self.good, "bad": self.bad}

    @property
    def announcement(self) -> str:
        """How many commits there are."""
        return f"{counted(len(self.graph.order), 'commit')} after {self.good[:7]}, up to {self.bad[:7]}"

    def gate(self, asked: Asked, folder: Path) -> RevisionGate:
        """Return the gate that answers about these commits."""
        return RevisionGate(asked, self._revision, folder)

    def commit(self, sha: Point) -> Commit:
        """Return a commit with its author and subject."""
        shown = git(self._revision.root, "log", "-1", "--date=short", "--format=%h%x00%an <%ae>%x00%ad%x00%s", sha)
        short, author, date, subject = shown.split("\0")
        return Commit(sha=sha, short=short, author=author, date=date, subject=subject)

    def name(self, point: Point) -> str:
        """Return a commit in one line."""
        return self.commit(point).text

    def described(self, point: Point) -> dict[str, Any]:
        """Return a commit as JSON-ready data."""
        return asdict(self.commit(point))

    def clean(self) -> None:
        """Remove the worktrees of runs that were killed."""
        remove_left_over(self._revision.common)


def between(good: str, bad: str, folder: Path, *, first_parent: bool) -> Commits:
    """Return the commits between two revisions of the repository of this folder.

    Args:
        first_parent: whether a merge counts as one commit, whatever was merged.

    Raises:
        UsageError: one of them does not exist, or the good one is not an ancestor of the bad one.
    """
    start, end = resolve(good, folder), resolve(bad, folder)
    root = start.root
    if start.sha == end.sha:
        raise UsageError(f"{good} and {bad} are the same commit, {start.short}. Give an earlier one as the good one.")
    if answers(root, "merge-base", "--is-ancestor", start.sha, end.sha) is None:
        raise UsageError(f"{good} is not an ancestor of {bad}. {_advice(start, end)}")
    if first_parent:  # where the good one came by a merge, earlier commits of the main line do not contain it
        after = set(_listed(root, "--ancestry-path", end.sha, f"^{start.sha}"))
        line = _listed(root, "--first-parent", "--reverse", end.sha, f"^{start.sha}")
        return Commits(start, end, Graph.chain(start.sha, [sha for sha in line if sha in after]))
    listed = [line.split() for line in _listed(root, "--parents", end.sha, f"^{start.sha}")]
    return Commits(start, end, Graph({sha: tuple(parents) for sha, *parents in listed}))


def _listed(root: Path, *arguments: str) -> list[str]:
    return git(root, "rev-list", *arguments).splitlines()


def _advice(start: Revision, end: Revision) -> str:
    if answers(start.root, "merge-base", "--is-ancestor", end.sha, start.sha) is not None:
        return f"It is the other way round: bisect {end.name} {start.name}, and with --improved for what became faster."
    base = answers(start.root, "merge-base", start.sha, end.sha)
    if base is None:
        return "They have no commit in common: the clone may be shallow (git fetch --unshallow)."
    return f"They have both come from {base[:7]}: if that is as good, give it instead of {start.name}."
