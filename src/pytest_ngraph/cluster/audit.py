"""The audit log of a device: who ran which project, where and when, as JSON lines."""

from __future__ import annotations

import getpass
import json
import os
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_ngraph.system.files import append

MOST_BYTES = 10 * 2**20
"""A longer log is renamed to `audit.jsonl.1`, in place of the one before."""


def user_name() -> str:
    """Return who runs this process: the name, or else the number, as in some containers."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())


def this_user() -> str:
    """Return who runs this process, as `user@host`."""
    return f"{user_name()}@{socket.gethostname()}"


@dataclass(frozen=True, slots=True)
class AuditLog:
    """A log that only grows.

    Attributes:
        path: its file, which only this user can read.
        most_bytes: the size from which on it is begun again; the log before is kept.
        wall: returns the time, in seconds since 1970.
    """

    path: Path
    most_bytes: int = MOST_BYTES
    wall: Callable[[], float] = time.time

    def write(self, **entry: Any) -> None:
        """Add an entry, with the time as `at`.

        Raises:
            OSError: it cannot be written, and so nothing should be run.
        """
        with suppress(FileNotFoundError):
            if self.path.stat().st_size >= self.most_bytes:
                self.path.replace(self.path.with_suffix(f"{self.path.suffix}.1"))
        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self.wall()))
        append(self.path, json.dumps({"at": at, **entry}))
