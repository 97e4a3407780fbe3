"""The temporary folder of a bench, removed however the bench ends."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from pytest_ngraph.bench.processes.leftovers import end_leftovers
from pytest_ngraph.errors import UsageError
from pytest_ngraph.system.child import command
from pytest_ngraph.system.files import take

PREFIX = "ngraph-bench-"
LOCK = ".lock"


class Scratch:
    """The folder, with a lock file inside and a reaper process beside it.

    The held lock shows others that the owner is alive. If the owner is killed, the reaper removes the folder. If both
    are killed, this user's next bench removes it.

    Attributes:
        folder: the folder.
    """

    def __init__(self) -> None:
        remove_abandoned()
        building = Path(tempfile.mkdtemp(prefix=f".{PREFIX}"))
        self._lock = os.open(building / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            take(self._lock)
        except OSError as error:
            os.close(self._lock)
            shutil.rmtree(building, ignore_errors=True)
            raise UsageError(
                f"cannot lock a file in the temporary folder {building.parent}: {error.strerror}. Set TMPDIR to a "
                "folder whose file system has locks."
            ) from error
        self.folder = building.rename(building.with_name(building.name[1:]))
        self._reaper = subprocess.Popen(
            command(sys.executable, "pytest_ngraph.bench.processes.reaper", str(self.folder)),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def close(self) -> None:
        """Remove the folder. Every worker must have ended before.

        The reaper is killed: with its input closed here, it would still wait for every process that this one has forked
        since, because those hold its input open, too.
        """
        end_leftovers(str(self.folder))
        shutil.rmtree(self.folder, ignore_errors=True)
        os.close(self._lock)
        self._reaper.kill()
        self._reaper.wait()
        assert self._reaper.stdin is not None
        self._reaper.stdin.close()


def remove_abandoned() -> None:
    """Remove the folders of this user's dead benches."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with suppress(OSError):  # it is another user's, or is removed already
            if folder.lstat().st_uid == os.getuid() and not folder.is_symlink() and _is_abandoned(folder):
                shutil.rmtree(folder, ignore_errors=True)


def _is_abandoned(folder: Path) -> bool:
    """Return whether nobody holds the folder's lock. Raises `OSError` if there is none: the folder is not ours then."""
    lock = os.open(folder / LOCK, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        return take(lock, shared=True)  # which NFS grants for a file that is only open for reading
    finally:
        os.close(lock)
