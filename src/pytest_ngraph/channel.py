"""A child process's standard input and output as the channel of its requests and replies."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO


@contextmanager
def own_standard_streams() -> Iterator[tuple[TextIO, TextIO]]:
    """Keep standard input for requests and standard output for replies: what a library asks there finds the end of a
    file, and what it prints goes to standard error."""
    with os.fdopen(os.dup(0)) as requests, os.fdopen(os.dup(1), "w") as replies:
        with Path(os.devnull).open() as nothing:
            os.dup2(nothing.fileno(), 0)
        os.dup2(2, 1)
        yield requests, replies
