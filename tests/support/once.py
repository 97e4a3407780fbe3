"""What takes long to make is made by one process of a run, also where pytest-xdist runs several."""

from __future__ import annotations

import fcntl
import hashlib
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest


class Once:
    """Makes each folder once a run.

    Args:
        config: pytest's.
        factory: has the folder of this process, which lies in that of the run.
    """

    def __init__(self, config: pytest.Config, factory: pytest.TempPathFactory) -> None:
        own = factory.getbasetemp()
        self._folder = (own.parent if hasattr(config, "workerinput") else own) / "once"
        self._folder.mkdir(exist_ok=True)

    def __call__(self, key: str, make: Callable[[Path], object]) -> Path:
        """Return the folder that has been made for this key. Other processes wait while one makes it.

        Args:
            key: says everything that decides what is made.
            make: fills the folder that it is given, which is empty. Where it fails, the next caller starts over.
        """
        note = self._folder / hashlib.sha256(key.encode()).hexdigest()
        with note.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not note.exists():
                place = tempfile.mkdtemp(dir=self._folder)
                make(Path(place))
                note.write_text(place)
        return Path(note.read_text())
