"""A user's small git repository, for tests of comparing revisions."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

AUTHOR = ("-c", "user.name=A. User", "-c", "user.email=user@example.org", "-c", "protocol.file.allow=always")


class Repository:
    """A working tree, and the git commands that tests need in it."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @classmethod
    def create(cls, root: Path) -> Repository:
        """Create an empty repository with the branch `main` in this folder, which is created if needed."""
        root.mkdir(exist_ok=True)
        made = cls(root)
        made.git("init", "--quiet")
        made.git("symbolic-ref", "HEAD", "refs/heads/main")
        return made

    def git(self, *arguments: str, given: str = "") -> str:
        """Run git, without the machine's and the user's configuration, on the input `given`. Return what it prints."""
        nobody = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "HOME": os.devnull}
        ran = subprocess.run(
            ["git", *AUTHOR, *arguments],
            cwd=self.root,
            env=os.environ | nobody,
            check=True,
            input=given,
            capture_output=True,
            text=True,
        )
        return ran.stdout.strip()

    def write(self, path: str, text: str) -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def commit(self, message: str) -> str:
        """Commit everything and return the full hash of the commit."""
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", message)
        return self.git("rev-parse", "HEAD")

    def worktrees(self) -> int:
        """Return how many worktrees git knows of, including the main one."""
        return len(self.git("worktree", "list").splitlines())
