"""Other load on the machine: a process that computes and is bound to no core.

    python tools/gate_trials/conditions.py busy|bursts

is that process. It ends with the one that started it.
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
"""Conditions by name, with the text for the heading of a table."""
SHORTEST_S, LONGEST_S = 0.05, 0.5
"""Shortest and longest burst, and pause between bursts."""


@contextmanager
def held(condition: str) -> Iterator[None]:
    """Keep the machine in this condition while the block runs."""
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
