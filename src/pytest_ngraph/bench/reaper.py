"""A process that outlives the bench for a moment: `python -m pytest_ngraph.bench.reaper FOLDER`.

A bench that is killed with SIGKILL can clean up nothing itself. The kernel then ends the keeper's input, and it ends
what the workers started, and removes their files. It sleeps until then.
"""

from __future__ import annotations

import shutil
import signal
import sys

from pytest_ngraph.bench.leftovers import end_leftovers


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
