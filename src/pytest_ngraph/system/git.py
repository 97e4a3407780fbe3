"""Run git as a user would, but without hooks and without the environment variables of an outer git."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from pytest_ngraph.errors import NgraphError, UsageError
from pytest_ngraph.system.command import run

QUIET = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false")
"""Runs no hook and starts no daemon: the worktrees made here are removed after a minute."""
PLAIN = ("-c", "log.showSignature=false", "-c", "i18n.logOutputEncoding=UTF-8")
"""Takes back what a user may have set and what would change output that is read here: no lines about signatures between
commits, and names in UTF-8. Colours, dates, renames and paths are asked for in full where they are read."""
OF_OUTER_GIT = (
    "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_COMMON_DIR", "GIT_CONFIG_PARAMETERS", "GIT_DIR", "GIT_GRAFT_FILE",
    "GIT_IMPLICIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_NAMESPACE", "GIT_OBJECT_DIRECTORY", "GIT_PREFIX",
    "GIT_QUARANTINE_PATH", "GIT_SHALLOW_FILE", "GIT_WORK_TREE",
)  # fmt: skip
"""Variables that a hook inherits from the git that runs it. They name that git's repository, not the folder's."""


class GitFailed(NgraphError):
    """Git ended with an error. Its text is the command and what git said."""

    def __init__(self, arguments: Sequence[str], said: str) -> None:
        first = next((line for line in said.splitlines() if line.startswith(("fatal:", "error:"))), said.strip())
        super().__init__(f"git {' '.join(arguments)}: {first}")
        self.said = said


def unusable(folder: Path, error: GitFailed) -> UsageError:
    """Return the message to users that git cannot read the repository in a folder, and why."""
    if "dubious ownership" in error.said:
        return UsageError(
            f"git does not trust {folder}: another user owns it. "
            f"Trust it: git config --global --add safe.directory {folder}"
        )
    return UsageError(f"the repository of {folder} cannot be used. {error}")


def git(folder: Path, *arguments: str) -> str:
    """Run git. Return its output, without the last newline.

    Git has always ended when this returns or raises: a checkout still running would write into a worktree that is being
    removed.

    Raises:
        GitFailed: git ended with an error.
        UsageError: git is not installed.
    """
    try:
        status, output, said = run(["git", *QUIET, *PLAIN, *arguments], folder, _environment())
    except FileNotFoundError:
        raise UsageError(
            "git is not installed, or not on PATH. Comparing with a revision needs it: install git 2.20 or later."
        ) from None
    if status:
        raise GitFailed(arguments, said)
    return output.rstrip("\n")


def answers(folder: Path, *arguments: str) -> str | None:
    """Return git's output; None if it ends with an error, which is how git answers no."""
    try:
        return git(folder, *arguments)
    except GitFailed:
        return None


def _environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in OF_OUTER_GIT}
    return kept | {"LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"}
