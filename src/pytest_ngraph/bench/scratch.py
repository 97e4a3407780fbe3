"""The temporary folder of a bench, which is removed however the bench ends."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from pytest_ngraph.bench.leftovers import end_leftovers
from pytest_ngraph.system.child import command
from pytest_ngraph.system.files import take

PREFIX = "ngraph-bench-"
LOCK = ".lock"


class Scratch:
    """Holds a lock in the folder, by which others know that its owner lives, and has a keeper, which removes it when
    the owner is killed. Should both be killed, the next bench of this user removes it."""

    def __init__(self) -> None:
        remove_abandoned()
        building = Path(tempfile.mkdtemp(prefix=f".{PREFIX}"))
        self._lock = os.open(building / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        take(self._lock)
        self.folder = building.rename(building.with_name(building.name[1:]))
        self._keeper = subprocess.Popen(
            command(sys.executable, "pytest_ngraph.bench.reaper", str(self.folder)),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def close(self) -> None:
        """Remove the folder, once every worker has ended. The keeper has no more to do: it would wait for every process
        that this one has forked since."""
        end_leftovers(str(self.folder))
        shutil.rmtree(self.folder, ignore_errors=True)
        os.close(self._lock)
        self._keeper.kill()
        self._keeper.wait()
        assert self._keeper.stdin is not None
        self._keeper.stdin.close()


def remove_abandoned() -> None:
    """Remove this user's folders of benches that are dead."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with suppress(OSError):  # another user's, or removed meanwhile
            if folder.lstat().st_uid == os.getuid() and not folder.is_symlink() and _is_abandoned(folder):
                shutil.rmtree(folder, ignore_errors=True)


def _is_abandoned(folder: Path) -> bool:
    """Whether nobody holds the lock. A folder without one is none of ours."""
    lock = os.open(folder / LOCK, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        return take(lock)
    finally:
        os.close(lock)
