"""A process that cleans up after a killed bench: `python -m pytest_ngraph.bench.processes.reaper FOLDER`.

A bench that is killed with SIGKILL cannot clean up itself. The reaper sleeps until the kernel closes its input, which
happens when the bench dies. It then kills the workers and what they started, and removes their files.
"""

from __future__ import annotations

import shutil
import signal
import sys

from pytest_ngraph.bench.processes.leftovers import end_leftovers


def main() -> None:
    """Wait for the end of the input, then clean up."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    sys.stdin.buffer.read()
    folder = sys.argv[1]
    end_leftovers(folder)
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
