"""Git revisions: what a name stands for, and its files in a folder of their own."""

from pytest_ngraph.against.revision.resolve import Head, Revision, head_of, resolve
from pytest_ngraph.against.revision.worktree import Worktree

__all__ = ["Head", "Revision", "Worktree", "head_of", "resolve"]
