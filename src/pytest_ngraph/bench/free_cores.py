"""Waiting until other work on the cores is over, instead of measuring what it delays."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import psutil

from pytest_ngraph.clock import Clock

LOOK_S = 0.05
"""Five ticks, in which most kernels count what a core does."""
IDLE_SHARE = 0.6
"""A core that is free idles for more than this share of a look."""
LONGEST_S = 0.6
"""What lasts longer is no burst."""

IdleSeconds = Callable[[], Sequence[float]]


def idle_seconds() -> list[float]:
    """How long each core was idle, since the machine was started."""
    return [times.idle for times in psutil.cpu_times(percpu=True)]


class FreeCores:
    """Waits for cores to become free. Where that was in vain, it waits the next time only after a while, which doubles
    each time: work that does not end is nothing to wait for."""

    def __init__(
        self,
        idle: IdleSeconds = idle_seconds,
        clock: Clock = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._idle = idle
        self._clock = clock
        self._sleep = sleep
        self._not_before_s = 0.0
        self._put_off_s = LONGEST_S

    @property
    def lasts(self) -> bool:
        """Whether it would wait now."""
        return self._clock() >= self._not_before_s

    def wait(self, cores: Sequence[int]) -> None:
        """Return when these cores are free, and in any case after a while. Nothing of ours may use them meanwhile."""
        started = self._clock()
        if not self.lasts:
            return
        while not self._are_free(cores):
            if self._clock() - started >= LONGEST_S:
                self._put_off_s *= 2
                self._not_before_s = self._clock() + self._put_off_s
                return
        self._put_off_s = LONGEST_S

    def count_free(self, cores: Sequence[int]) -> int:
        """How many of these cores other work leaves free: the most that are so at a time, while no burst would last.
        Which ones does not matter: work that is bound to no core goes where we are not."""
        started = self._clock()
        most = 0
        while most < len(cores) and self._clock() - started < LONGEST_S:
            most = max(most, self._look(cores))
        return most

    def _are_free(self, cores: Sequence[int]) -> bool:
        return self._look(cores) == len(cores)

    def _look(self, cores: Sequence[int]) -> int:
        """How many of these cores are free now. One of which nothing is known counts."""
        before, started = self._idle(), self._clock()
        self._sleep(LOOK_S)
        after, elapsed_s = self._idle(), self._clock() - started
        known = min(len(before), len(after))
        return sum(core >= known or after[core] - before[core] > IDLE_SHARE * elapsed_s for core in cores)
