"""A child process's standard output as the channel of its replies."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO


@contextmanager
def own_standard_output() -> Iterator[TextIO]:
    """Keep standard output for replies: whatever a library prints there goes to standard error."""
    with os.fdopen(os.dup(1), "w") as replies:
        os.dup2(2, 1)
        yield replies
