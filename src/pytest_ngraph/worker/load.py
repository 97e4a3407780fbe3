"""Put a model under load in real time: a process of its own sends requests (`generator.py`), this one answers them.

Both read the system's monotonic clock. Requests that wait are in the pipe between them, which has room for more than
any load has.
"""

from __future__ import annotations

import os
import select
import subprocess
import sys
import time
from collections.abc import Callable, Sequence

from pytest_ngraph.load import Rate, rate_of, schedule, serve
from pytest_ngraph.worker import generator
from pytest_ngraph.worker.generator import OWN, TIME

AHEAD_S = 0.3
"""Seconds from starting the process that sends to when the load begins."""
AT_ONCE = 65_536
"""Bytes that are read at once: as many as a pipe holds, a whole number of requests."""


class GeneratorEnded(RuntimeError):
    """The process that sends requests ended before it had sent all."""


class Generator:
    """Requests that another process sends, each a time: when it was sent.

    Args:
        due: when each request is to be sent, in seconds from the beginning.
        cores: the logical CPUs that it may use; empty for all.
        own_core: whether the model leaves these alone. Both processes then look for what is due again and again,
            because a sleeping process of a virtual machine wakes up to 0.2 ms late. On the model's cores, looking would
            take time from the calls.
    """

    def __init__(self, due: Sequence[float], cores: Sequence[int] = (), *, own_core: bool = False) -> None:
        begin = time.monotonic() + AHEAD_S
        self.due = [begin + each for each in due]
        self.sent: list[float] = []
        self._looks = own_core
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", generator.__file__, ",".join(map(str, cores)), *([OWN] if own_core else [])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(b"".join(map(TIME.pack, self.due)))
        self._process.stdin.close()
        self._pipe = self._process.stdout.fileno()

    def take(self, until: float | None) -> int:
        """Return how many requests have arrived since the last call, as `load.Arrivals` says.

        Raises:
            GeneratorEnded: no further requests will arrive.
        """
        if not self._wait(until):
            return 0
        arrived = os.read(self._pipe, AT_ONCE)
        if not arrived and len(self.sent) < len(self.due):
            raise GeneratorEnded(f"the process that sends requests ended after {len(self.sent)} of {len(self.due)}")
        sent = [at for (at,) in TIME.iter_unpack(arrived)]
        self.sent += sent
        return len(sent)

    def _wait(self, until: float | None) -> bool:
        """Wait for a request, and return whether there is one (or no further one will come)."""
        while True:
            left_s = None if until is None else max(0.0, until - time.monotonic())
            if select.select([self._pipe], [], [], 0.0 if self._looks else left_s)[0]:
                return True
            if left_s == 0:
                return False

    @property
    def late_s(self) -> float:
        """How late the 99th percentile of the requests was sent."""
        late = sorted(sent - due for sent, due in zip(self.sent, self.due, strict=False))
        return late[int(0.99 * len(late))]

    def close(self) -> None:
        """End the process that sends."""
        self._process.kill()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()


def run(
    per_s: float,
    requests: int,
    answer: Callable[[], object],
    *,
    seed: int = 0,
    cores: Sequence[int] = (),
    own_core: bool = False,
    batch: int = 1,
    batch_wait_s: float = 0.0,
) -> Rate:
    """Return what a rate of requests shows of a model.

    Args:
        per_s: requests a second.
        requests: how many, the first ones that do not count included.
        answer: one call of the model, which returns when it is done.
        seed: of the schedule.
        cores: the logical CPUs that the process which sends may use; empty for all.
        own_core: as in `Generator`.
        batch: most requests of a call.
        batch_wait_s: as in `load.serve`.
    """
    due = schedule(per_s, requests, seed)
    requested = Generator(due, cores, own_core=own_core)
    try:
        served = serve(requested.due, requested, answer, time.monotonic, batch=batch, batch_wait_s=batch_wait_s)
    finally:
        requested.close()
    return rate_of(per_s, requested.due, served, requested.late_s)
