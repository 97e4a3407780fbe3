"""Find the files that were renamed since a revision."""

from __future__ import annotations

from pathlib import Path

from pytest_ngraph.against.revision.resolve import Revision
from pytest_ngraph.system.git import answers


def renamed(revision: Revision) -> dict[Path, Path]:
    """Return the present place of each Python file that git finds renamed, and its place at the revision.

    Places are relative to the top folder. Git finds a renamed file by its content, and looks only at files that it
    tracks. Empty where git cannot say.
    """
    options = ("--name-status", "--find-renames", "--diff-filter=R", "-z", revision.sha, "--", "*.py")
    fields = (answers(revision.root, "diff", *options) or "").split("\0")
    return {Path(new): Path(old) for old, new in zip(fields[1::3], fields[2::3], strict=False)}
