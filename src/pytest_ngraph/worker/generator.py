"""The process that sends requests: `python generator.py CORES [own]`, with the times when due on standard input.

It imports nothing of this package, so that it starts at once. Of each request it writes when it was sent. Where it has
a core of its own (`own`), it sleeps until shortly before a request is due, and looks at the clock from then on.
"""

from __future__ import annotations

import os
import struct
import sys
import time
from contextlib import suppress

TIME = struct.Struct("d")
"""Seconds of the monotonic clock."""
OWN = "own"
AWAKE_S = 0.001
"""On a core of its own it is awake this long before a request is due: a virtual machine wakes a process some tenths of
a millisecond late."""


def main() -> None:
    """Send each request when it is due."""
    awake_s = AWAKE_S if OWN in sys.argv[2:] else 0.0
    if sys.argv[1] and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, map(int, sys.argv[1].split(",")))
    requests = sys.stdin.buffer.read()
    with suppress(BrokenPipeError):  # nobody reads any more
        for (due,) in TIME.iter_unpack(requests):
            while (left_s := due - time.monotonic()) > 0:
                time.sleep(max(0.0, left_s - awake_s))
            os.write(1, TIME.pack(time.monotonic()))


if __name__ == "__main__":
    main()
