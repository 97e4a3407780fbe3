"""Wait until other work on the cores is over, instead of measuring while it delays us."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from pytest_ngraph.clock import Clock
from pytest_ngraph.machine.cores import IdleSeconds, idle_seconds

LOOK_S = 0.05
"""Length of a look. Most kernels count idle time in ticks of 10 ms; this is five."""
IDLE_SHARE = 0.6
"""A core counts as free if it idles for more than this share of a look."""
LONGEST_S = 0.6
"""Load that lasts longer than this is not a short burst."""


class FreeCores:
    """Waits for cores to become free.

    After waiting in vain, it does not wait again for some time, which doubles each time it waits in vain: it is no use
    waiting for work that does not end.
    """

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
    def would_wait(self) -> bool:
        """Whether `wait` would wait now, rather than return at once after waiting in vain."""
        return self._clock() >= self._not_before_s

    def wait(self, cores: Sequence[int]) -> None:
        """Return when these cores are free, or after `LONGEST_S`. None of our own processes may use them."""
        started = self._clock()
        if not self.would_wait:
            return
        while not self._are_free(cores):
            if self._clock() - started >= LONGEST_S:
                self._put_off_s *= 2
                self._not_before_s = self._clock() + self._put_off_s
                return
        self._put_off_s = LONGEST_S

    def count_free(self, cores: Sequence[int]) -> int:
        """Return how many of these cores other work leaves free: the most that are free at once within `LONGEST_S`.

        Which ones does not matter: work that is not bound to a core moves to cores that we do not use.
        """
        started = self._clock()
        most = 0
        while most < len(cores) and self._clock() - started < LONGEST_S:
            most = max(most, self._look(cores))
        return most

    def _are_free(self, cores: Sequence[int]) -> bool:
        return self._look(cores) == len(cores)

    def _look(self, cores: Sequence[int]) -> int:
        """Return how many of these cores are free now. A core that the system does not list counts as free."""
        before, started = self._idle(), self._clock()
        self._sleep(LOOK_S)
        after, elapsed_s = self._idle(), self._clock() - started
        known = before.keys() & after.keys()
        return sum(core not in known or after[core] - before[core] > IDLE_SHARE * elapsed_s for core in cores)
