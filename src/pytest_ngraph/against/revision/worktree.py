"""The files of a revision in a temporary folder, which is removed however the process ends."""

from __future__ import annotations

import atexit
import os
import secrets
import shutil
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType

from pytest_ngraph.against.revision.resolve import Revision
from pytest_ngraph.against.revision.submodules import check_out_submodules
from pytest_ngraph.against.revision.untracked import bring_untracked
from pytest_ngraph.errors import NgraphError, UsageError
from pytest_ngraph.system.command import held_back
from pytest_ngraph.system.files import take
from pytest_ngraph.system.git import GitFailed, answers, git
from pytest_ngraph.system.installed import PACKAGE_FOLDER
from pytest_ngraph.system.relocation import import_path, moved

PREFIX = "ngraph-base-"
ELSEWHERE_S = 7 * 24 * 3600.0
"""A worktree whose folder is not here may be that of a run on another machine, or in another container, that shares the
repository. Once it is this old, no run has it any more."""
SHARED = ("HOME", "TMPDIR", "TEMP", "TMP", "VIRTUAL_ENV", "CONDA_PREFIX")
"""Variables with folders that are the same for every revision, wherever they lie."""
OF_COVERAGE = ("COV_CORE_", "COVERAGE_")
"""What the variables of coverage.py and pytest-cov begin with. They mean the head's files in every process."""


class Worktree:
    """A linked worktree of a revision, as a context manager.

    The process holds a lock on the folder, which the kernel frees when the process dies. So a later process can find
    worktrees that were left over.

    Attributes:
        root: its top folder.
        missing_submodules: a sentence on each submodule that could not be checked out.
    """

    def __init__(self, revision: Revision, parent_folder: Path, untracked: Sequence[str] = ()) -> None:
        """Choose a folder inside `parent_folder`; entering the context makes it.

        Args:
            untracked: patterns of files that git does not track, to bring from the working tree.
        """
        self.revision = revision
        self._untracked = untracked
        self.root = parent_folder.resolve() / f"{PREFIX}{secrets.token_hex(6)}"
        self.missing_submodules: tuple[str, ...] = ()
        self._lock: int | None = None

    def __enter__(self) -> Worktree:
        """Check the revision out.

        Raises:
            NgraphError: git or the file system fails.
            UsageError: the current folder is a file at that revision, or a pattern matches no file.
        """
        remove_left_over(self.revision.common)
        atexit.register(self.remove)  # for an interrupt on the way into the with block
        try:
            self._check_out()
        except BaseException as error:
            self.remove()
            if isinstance(error, OSError):  # disk full, no permission to write
                raise NgraphError(f"{self.revision} cannot be checked out: {error}") from None
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.remove()

    @property
    def cwd(self) -> Path:
        """The folder that corresponds to the current one."""
        return self.root / self.revision.folder

    def path(self, sys_path: Iterable[str], *inner: Path) -> list[str]:
        """Return `sys.path` for a process that imports this revision in place of the working tree.

        Args:
            inner: folders in the project at hand besides the current one, such as pytest's root folder.
        """
        return import_path(sys_path, self.revision.root, self.root, (self.revision.cwd, *inner))

    def to_base(self, text: str) -> str:
        """Return an absolute path in the working tree as the same path in this worktree; any other text as it is."""
        return moved(text, self.revision.root, self.root)

    def to_head(self, text: str) -> str:
        """Return an absolute path in this worktree as the same path in the working tree; the inverse of `to_base`."""
        return moved(text, self.root, self.revision.root)

    def variables(self, environment: Mapping[str, str]) -> dict[str, str]:
        """Return the variables that lead into the working tree, as they lead to the same files and folders here.

        Args:
            environment: values by name. Each may be several paths, as that of `PYTHONPATH` is.
        """
        given = {
            name: value
            for name, value in environment.items()
            if name not in SHARED and not name.startswith(OF_COVERAGE) and os.sep in value
        }
        led = {name: os.pathsep.join(map(self._led, value.split(os.pathsep))) for name, value in given.items()}
        return {name: value for name, value in led.items() if value != given[name]}

    def _led(self, text: str) -> str:
        """Return an absolute path in the working tree as the same path here, if the revision is to have what is there.

        What git does not track and this worktree has not stays where it is: caches, environments, what was built.
        """
        here = self.to_base(text)
        is_address = text.startswith("//")  # the rest of a URL, after its colon
        if here == text or is_address or Path(self.to_head(here)) == PACKAGE_FOLDER.parent:
            return text
        is_tracked = os.path.lexists(here) or answers(
            self.revision.root, "ls-files", "--", os.path.relpath(here, self.root)
        )
        return here + os.sep * text.endswith(os.sep) if is_tracked else text

    def renamed(self, until: str = "") -> dict[str, str]:
        """Return the place here of each Python file that was renamed since, by its later place moved here.

        Git finds a renamed file by its content, and looks only at files that it tracks. Empty where git cannot say.

        Args:
            until: the commit that has the later places; empty for the working tree.
        """
        commits = filter(None, (self.revision.sha, until))
        options = ("--name-status", "--find-renames", "--diff-filter=R", "-z", *commits, "--", "*.py")
        fields = (answers(self.revision.root, "diff", *options) or "").split("\0")
        return {
            str(self.root / new): str(self.root / old) for old, new in zip(fields[1::3], fields[2::3], strict=False)
        }

    def remove(self) -> None:
        """Remove the folder and git's files about it. May be called again, or when neither exists."""
        with held_back():
            _remove(self.root, _administration(self.revision.common, self.root))
            if self._lock is not None:
                os.close(self._lock)
                self._lock = None
            atexit.unregister(self.remove)

    def _check_out(self) -> None:
        self.root.mkdir(mode=0o700)
        self._lock = os.open(self.root, os.O_RDONLY | os.O_CLOEXEC)
        take(self._lock)
        try:
            git(self.revision.root, "worktree", "add", "--quiet", "--detach", str(self.root), self.revision.sha)
        except GitFailed as error:
            raise NgraphError(f"{self.revision} cannot be checked out. {error}") from None
        self.missing_submodules = tuple(check_out_submodules(self.revision.root, self.root, self.revision.sha))
        bring_untracked(self._untracked, self.revision.root, self.root)
        try:
            self.cwd.mkdir(parents=True, exist_ok=True)  # git keeps no empty folders, and relative paths start there
        except (FileExistsError, NotADirectoryError):
            raise UsageError(
                f"the current folder, {self.revision.folder}, is a file at {self.revision}. "
                f"Run pytest from another folder: {self.revision.root}"
            ) from None


def remove_left_over(common: Path) -> None:
    """Remove the worktrees of processes that were killed before they could."""
    for administration in (common / "worktrees").glob(f"{PREFIX}*"):
        try:
            git_file = (administration / "gitdir").read_text().strip()
            age_s = time.time() - (administration / "gitdir").stat().st_mtime
        except OSError:
            continue  # another process is making or removing it
        root = (administration / git_file).parent  # with worktree.useRelativePaths, git writes a relative path
        if root.name == administration.name and not _is_held(root, age_s):
            with held_back():
                _remove(root, administration)


def _is_held(root: Path, age_s: float) -> bool:
    try:
        descriptor = os.open(root, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return age_s < ELSEWHERE_S
    except OSError:
        return True  # the folder of another user
    try:
        return not take(descriptor)
    except OSError:
        return True  # the file system has no locks, so nobody knows
    finally:
        os.close(descriptor)


def _administration(common: Path, root: Path) -> Path:
    """Return where git keeps a worktree's HEAD and index (gitrepository-layout): named like the folder, so unique."""
    return common / "worktrees" / root.name


def _remove(root: Path, administration: Path) -> None:
    """Do the same as `git worktree remove`, also for a half-made worktree and for one that git considers locked."""
    shutil.rmtree(root, ignore_errors=True)
    shutil.rmtree(administration, ignore_errors=True)
    try:
        administration.parent.rmdir()
    except OSError:
        return  # there are other worktrees, or there never was one
