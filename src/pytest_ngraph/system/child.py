"""Child processes that run a module of this package: how they start, communicate and end."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

WITHOUT_FOLDER = "import sys; sys.path[:] = filter(None, sys.path)"
"""Removes the current folder from `sys.path`, where `-c` puts it first. Python 3.10 has no `-P`."""
RUN = f"{WITHOUT_FOLDER}; import runpy; runpy.run_module(sys.argv.pop(1), run_name='__main__', alter_sys=True)"


def command(python: str, module: str, *arguments: str) -> list[str]:
    """Return a command like `python -m MODULE`, but with the current folder not importable.

    Otherwise a user's `random.py` would shadow the standard library's.
    """
    return [python, "-c", RUN, module, *arguments]


def search_path() -> list[str]:
    """Return where this process imports from, to be sent to a child. Entries that are not text are left out."""
    return [entry for entry in sys.path if isinstance(entry, str)]


@contextmanager
def own_standard_streams() -> Iterator[tuple[TextIO, TextIO]]:
    """Reserve standard input for requests and standard output for replies.

    A library that reads standard input gets the end of a file, and its prints go to standard error.
    """
    with os.fdopen(os.dup(0)) as requests, os.fdopen(os.dup(1), "w") as replies:
        with Path(os.devnull).open() as nothing:
            os.dup2(nothing.fileno(), 0)
        os.dup2(2, 1)
        yield requests, replies


def die_with_parent() -> None:
    """Have the kernel kill this process when the thread that started it ends, at the latest when the parent dies.

    On Linux only. Elsewhere the process ends later, at the end of its input.
    """
    if sys.platform == "linux":
        pr_set_pdeathsig = 1
        ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)
