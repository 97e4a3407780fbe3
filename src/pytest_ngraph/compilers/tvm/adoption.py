"""Adopt a schedule that the search found only if it beats the rule's schedule when both are timed in turn.

A search keeps what was fastest once. Among hundreds of trials that differ by noise, the fastest is the luckiest, not
the best, and it was timed minutes apart from the rule's schedule.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_ngraph.compilers.progress import report
from pytest_ngraph.compilers.tvm.database import drop_unfinished_line, trial_of

if TYPE_CHECKING:
    from pytest_ngraph.compilers.tvm.database import Database
    from pytest_ngraph.compilers.tvm.kernels import Kernel
    from pytest_ngraph.compilers.tvm.trial import Rig

DUELS = "duels.json"
CHALLENGERS = 3
"""How many schedules of a kernel may try to beat the rule's, the fastest first."""
PAIRS = 6
"""Pairs of runs in a duel: the fewest for which chance decides all of them the same way less than 1 time in 20, as
2 / 2^6."""


def adopt(kernels: Sequence[Kernel], database: Database, rig: Rig) -> list[Any]:
    """Return the winning record of each kernel for which the search found a better schedule than the rule's."""
    duels = Duels(database.folder / DUELS, rig)
    adopted = []
    for number, kernel in enumerate(kernels, start=1):
        report(f"timing the best schedules against those of the rules, kernel {number} of {len(kernels)}")
        winner = next((each for each in _challengers(kernel, database) if duels.is_won(each, kernel)), None)
        if winner is not None:
            adopted.append(winner)
    return adopted


def _challengers(kernel: Kernel, database: Database) -> list[Any]:
    """Return the fastest records of a kernel, up to the rule's own."""
    challengers = []
    for record in database.fastest(kernel.workload, CHALLENGERS):
        if trial_of(record).trace == kernel.rule_trace:
            break
        challengers.append(record)
    return challengers


class Duels:
    """Duels of schedules with the rule's. Each is run once and kept as a line of a file."""

    def __init__(self, path: Path, rig: Rig) -> None:
        drop_unfinished_line(path)
        self._path = path
        self._rig = rig
        lines = path.read_text().splitlines() if path.exists() else []
        self._ratios: dict[str, list[float]] = {duel["key"]: duel["ratios"] for duel in map(json.loads, lines)}

    def is_won(self, challenger: Any, kernel: Kernel) -> bool:
        """Return whether the challenger was faster than the rule's schedule in every pair of runs."""
        key = hashlib.sha256("".join((kernel.hash, trial_of(challenger).trace, kernel.rule_trace)).encode()).hexdigest()
        if key not in self._ratios:
            self._ratios[key] = self._fight(challenger, kernel)
            with self._path.open("a") as file:
                file.write(json.dumps({"key": key, "kernel": kernel.name, "ratios": self._ratios[key]}) + "\n")
        return all(ratio > 1 for ratio in self._ratios[key])

    def _fight(self, challenger: Any, kernel: Kernel) -> list[float]:
        """Return the ratios of seconds, rule's schedule over challenger, for pairs of consecutive runs."""
        modules = [kernel.by_rule.mod, challenger.as_measure_candidate().sch.mod]
        seconds = list(self._rig.seconds(modules, order=[0, 1, 1, 0] * (PAIRS // 2)))
        pairs = zip(seconds[::2], seconds[1::2], strict=True)
        return [first / second if number % 2 == 0 else second / first for number, (first, second) in enumerate(pairs)]
