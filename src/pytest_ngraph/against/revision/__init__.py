"""Git revisions: the commit that a name stands for (`resolve`), its files in a temporary folder (`Worktree`), and the
cases of its tests (`collecting.collect`)."""

from pytest_ngraph.against.revision.resolve import Revision, commits_since, head_of, resolve, source_of
from pytest_ngraph.against.revision.worktree import Worktree

__all__ = ["Revision", "Worktree", "commits_since", "head_of", "resolve", "source_of"]
