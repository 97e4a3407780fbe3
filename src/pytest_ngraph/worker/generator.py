"""The process that sends requests: `python generator.py CORES`, with the times at which they are due on standard input.

It imports nothing of this package, so that it starts at once. Of each request it writes when it was sent.
"""

from __future__ import annotations

import os
import struct
import sys
import time
from contextlib import suppress

TIME = struct.Struct("d")
"""Seconds of the monotonic clock."""


def main() -> None:
    """Send each request when it is due."""
    if sys.argv[1] and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, map(int, sys.argv[1].split(",")))
    requests = sys.stdin.buffer.read()
    with suppress(BrokenPipeError):  # nobody reads any more
        for (due,) in TIME.iter_unpack(requests):
            while (left_s := due - time.monotonic()) > 0:
                time.sleep(left_s)
            os.write(1, TIME.pack(time.monotonic()))


if __name__ == "__main__":
    main()
