"""What else the machine does: other processes that compute, bound to no core.

    python tools/gate_trials/conditions.py busy|bursts

is such a process; it ends with the one that started it.
"""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from pytest_ngraph.system.child import die_with_parent

CONDITIONS = {"quiet": "quiet", "busy": "one core busy all the time", "bursts": "bursts of 50 to 500 ms"}
"""By name, as a table's heading tells them."""
SHORTEST_S, LONGEST_S = 0.05, 0.5
"""Bursts, and the pauses between them."""


@contextmanager
def held(condition: str) -> Iterator[None]:
    """Have the machine in this condition."""
    if condition == "quiet":
        yield
        return
    with subprocess.Popen([sys.executable, __file__, condition]) as process:
        try:
            yield
        finally:
            process.kill()


def main() -> None:
    die_with_parent()
    while True:
        _spin(random.uniform(SHORTEST_S, LONGEST_S))
        if sys.argv[1] == "bursts":
            time.sleep(random.uniform(SHORTEST_S, LONGEST_S))


def _spin(seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


if __name__ == "__main__":
    main()
