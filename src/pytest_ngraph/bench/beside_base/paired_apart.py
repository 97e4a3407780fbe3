"""A paired arm whose base runs in its own process: in another interpreter, or with the code of another tree."""

from __future__ import annotations

import random
from collections import Counter
from contextlib import suppress
from itertools import islice
from typing import Any

from pytest_ngraph.bench.beside_base.paired import PairedArm
from pytest_ngraph.bench.processes.process import WorkerFailed, WorkerProcess
from pytest_ngraph.comparison import BASE, Quad
from pytest_ngraph.record import Contention, Record
from pytest_ngraph.worker.measure import until_disturbed

USAGE = ("wall_s", "cpu_s", "involuntary_switches")


class ApartArm(PairedArm):
    """Head and base in one process each; either waits without spinning while the other works."""

    shares_process = False
    burst_s = 0.01
    """Each burst starts with caches that the other process has cooled; 10 ms are enough to warm them again."""

    _base_worker: WorkerProcess | None = None
    _random = random.Random()

    def _request_base(self, do: str, **arguments: Any) -> dict[str, Any]:
        if self._base_worker is None:
            self._base_worker = self._start(BASE)
        if do == "prepare" and (instead_of := self._pair.base_side.instead_of):
            arguments["instead_of"] = [str(place) for place in instead_of]
        return self._send(self._base_worker, do, **arguments)

    def finish(self, contention: Contention, arms: tuple[str, ...], cycles: str = "") -> Record:
        self._release_base()
        return super().finish(contention, arms, cycles)

    def build_again(self) -> None:
        self._release_base()
        super().build_again()

    def _release_base(self) -> None:
        if self._base_worker is not None:
            with suppress(WorkerFailed):  # a dead one is found when it is asked for more
                self._request_base("release", kind=self._target.kind)

    def _time_quads(self, calls: int, quads: int, slowest_s: float | None) -> dict[str, Any] | None:
        """Time quads as a worker with both models does, but with one request per burst."""
        used: Counter[str] = Counter()
        each = iter(lambda: self._quad(calls, used), None)
        timed = until_disturbed(islice(each, quads), slowest_s)
        return {"quads": timed, **used} if self.can_run else None

    def _quad(self, calls: int, used: Counter[str]) -> Quad | None:
        """Time one quad and add what its bursts used to `used`. Returns None if an arm fails."""
        times: dict[bool, list[float]] = {True: [], False: []}
        base_first = self._random.random() < 0.5
        for is_base in (base_first, not base_first, not base_first, base_first):
            answer = self._burst(calls, is_base=is_base)
            if answer is None:
                return None
            concurrency = self._base_concurrency if is_base else self._concurrency
            times[is_base].append(answer["elapsed_s"] / calls / concurrency)
            used.update({name: answer[name] for name in USAGE})
        return Quad(base=(times[True][0], times[True][1]), head=(times[False][0], times[False][1]))

    def _burst(self, calls: int, *, is_base: bool) -> dict[str, Any] | None:
        return (self._ask_base if is_base else self._ask)("measure", calls=calls)
