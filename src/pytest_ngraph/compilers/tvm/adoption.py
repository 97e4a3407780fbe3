"""Which schedules of a search are worth more than the rule's: those that win against it when both are timed in turn.

A search keeps what was fastest once. Of hundreds of trials that differ by noise, the luckiest is fastest, not the best,
and it was timed minutes apart from the rule's schedule.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_ngraph.compilers.progress import tell
from pytest_ngraph.compilers.tvm.database import drop_unfinished_line, trial_of

if TYPE_CHECKING:
    from pytest_ngraph.compilers.tvm.database import Database
    from pytest_ngraph.compilers.tvm.kernels import Kernel
    from pytest_ngraph.compilers.tvm.trial import Rig

DUELS = "duels.json"
CHALLENGERS = 3
"""Schedules of a kernel that may try to beat the rule's, the fastest first."""
PAIRS = 6
"""The fewest of which all are won by chance less often than 1 time in 20, either way: 2 / 2^6."""


def adopt(kernels: Sequence[Kernel], database: Database, rig: Rig) -> list[Any]:
    """The record of each kernel for which the search has found something better than the rule."""
    duels = Duels(database.folder / DUELS, rig)
    adopted = []
    for number, kernel in enumerate(kernels, start=1):
        tell(f"comparing the best schedules with the rules', kernel {number} of {len(kernels)}")
        winner = next((each for each in _challengers(kernel, database) if duels.is_won(each, kernel)), None)
        if winner is not None:
            adopted.append(winner)
    return adopted


def _challengers(kernel: Kernel, database: Database) -> list[Any]:
    """The fastest records of a kernel, up to the rule's own."""
    challengers = []
    for record in database.fastest(kernel.workload, CHALLENGERS):
        if trial_of(record).trace == kernel.rule_trace:
            break
        challengers.append(record)
    return challengers


class Duels:
    """Duels of schedules with the rule's, each fought once and then remembered in a file, a line each."""

    def __init__(self, path: Path, rig: Rig) -> None:
        drop_unfinished_line(path)
        self._path = path
        self._rig = rig
        lines = path.read_text().splitlines() if path.exists() else []
        self._ratios: dict[str, list[float]] = {duel["key"]: duel["ratios"] for duel in map(json.loads, lines)}

    def is_won(self, challenger: Any, kernel: Kernel) -> bool:
        """Whether the challenger was faster than the rule's schedule in every pair of runs."""
        key = hashlib.sha256("".join((kernel.hash, trial_of(challenger).trace, kernel.rule_trace)).encode()).hexdigest()
        if key not in self._ratios:
            self._ratios[key] = self._fight(challenger, kernel)
            with self._path.open("a") as file:
                file.write(json.dumps({"key": key, "kernel": kernel.name, "ratios": self._ratios[key]}) + "\n")
        return all(ratio > 1 for ratio in self._ratios[key])

    def _fight(self, challenger: Any, kernel: Kernel) -> list[float]:
        """Seconds of the rule's schedule over those of the challenger, of runs next to each other."""
        modules = [kernel.by_rule.mod, challenger.as_measure_candidate().sch.mod]
        seconds = list(self._rig.seconds(modules, order=[0, 1, 1, 0] * (PAIRS // 2)))
        pairs = zip(seconds[::2], seconds[1::2], strict=True)
        return [first / second if number % 2 == 0 else second / first for number, (first, second) in enumerate(pairs)]
