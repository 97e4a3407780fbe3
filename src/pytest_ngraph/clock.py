"""Sources of time. They are passed in, so that tests can use a simulated clock and never sleep."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

Clock = Callable[[], float]
"""Returns seconds from an arbitrary start; never goes back."""


class Stopwatch(Protocol):
    """Times a burst of iterations on the device that runs them."""

    def start(self) -> None: ...

    def stop(self) -> float:
        """Wait until all work issued since `start` is finished. Return the seconds since `start`."""
        ...


class WallStopwatch:
    """Measures wall time, for devices on which a call returns when its work is done."""

    def __init__(self, clock: Clock = time.perf_counter) -> None:
        self._clock = clock
        self._started = 0.0

    def start(self) -> None:
        self._started = self._clock()

    def stop(self) -> float:
        return self._clock() - self._started
