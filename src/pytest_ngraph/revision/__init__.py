"""Git revisions: what a name stands for, its files in a folder of their own, and imports from there alone."""

from pytest_ngraph.revision.imports import foreign_modules, refuse_foreign
from pytest_ngraph.revision.resolve import Head, Revision, head_of, resolve
from pytest_ngraph.revision.worktree import Worktree

__all__ = ["Head", "Revision", "Worktree", "foreign_modules", "head_of", "refuse_foreign", "resolve"]
