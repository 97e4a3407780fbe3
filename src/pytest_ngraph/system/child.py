"""Child processes that run a module of this package: how they start, speak and end."""

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
"""Takes the current folder from `sys.path`, where `-c` puts it first; Python 3.10 has no `-P`."""
RUN = f"{WITHOUT_FOLDER}; import runpy; runpy.run_module(sys.argv.pop(1), run_name='__main__', alter_sys=True)"


def command(python: str, module: str, *arguments: str) -> list[str]:
    """What `python -m MODULE` does, but that nothing is imported from the current folder: a user's `random.py` is not
    the standard library's."""
    return [python, "-c", RUN, module, *arguments]


def search_path() -> list[str]:
    """Where this process imports from, to be handed to a child: Python passes over entries that are no text."""
    return [entry for entry in sys.path if isinstance(entry, str)]


@contextmanager
def own_standard_streams() -> Iterator[tuple[TextIO, TextIO]]:
    """Keep standard input for requests and standard output for replies: what a library asks there finds the end of a
    file, and what it prints goes to standard error."""
    with os.fdopen(os.dup(0)) as requests, os.fdopen(os.dup(1), "w") as replies:
        with Path(os.devnull).open() as nothing:
            os.dup2(nothing.fileno(), 0)
        os.dup2(2, 1)
        yield requests, replies


def die_with_parent() -> None:
    """Have the kernel kill this process when the thread that started it ends, as all do when their process dies.

    On Linux; elsewhere the end of its input tells, later.
    """
    if sys.platform == "linux":
        pr_set_pdeathsig = 1
        ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)
