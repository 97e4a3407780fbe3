"""What was found, in a file that grows: a later call goes on where an earlier one ended."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from gate_trials.cells import Cell


@dataclass(frozen=True, slots=True, kw_only=True)
class Injection:
    """Excess compute of known cost.

    slowdown_percent: the one that was wanted. rows: of the excess layer. true_percent: the slowdown measured on the
    quiet machine. low_percent, high_percent: its 95 % interval.
    """

    network: str
    compiler: str
    threads: int
    slowdown_percent: float
    rows: int
    true_percent: float
    low_percent: float
    high_percent: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What a rule said of a cell.

    verdict: the gate's words; other rules know `regressed` and `unchanged` only. ratio: head's time over base's, as
    this rule estimates it. measured_s: seconds of measuring, base and head together. wall_s: seconds in all, the cell's
    share of its session. iterations: of the base, and as many of the head; 0 where that is not known.
    """

    cell: Cell
    rule: str
    verdict: str
    ratio: float | None
    measured_s: float
    wall_s: float
    iterations: int = 0


class Results:
    """Injections and judgements, by what they are of; what is added last counts."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.injections: dict[tuple[str, str, int, float], Injection] = {}
        self.judgements: dict[tuple[Cell, str], Judgement] = {}
        for line in path.read_text().splitlines() if path.exists() else ():
            self._hold(_parse(json.loads(line)))

    def add(self, found: Iterable[Injection | Judgement]) -> None:
        """Hold and write."""
        with self._path.open("a") as file:
            for each in found:
                self._hold(each)
                file.write(json.dumps(asdict(each)) + "\n")

    def injection_of(self, cell: Cell) -> Injection | None:
        """What is injected into the cell's head; None for nothing."""
        return self.injections.get((cell.network, cell.compiler, cell.threads, cell.slowdown_percent))

    def judged(self, rules: Iterable[str]) -> list[Cell]:
        """Cells of which every rule has judged."""
        wanted = list(rules)
        cells = dict.fromkeys(cell for cell, _ in self.judgements)
        return [cell for cell in cells if all((cell, rule) in self.judgements for rule in wanted)]

    def _hold(self, each: Injection | Judgement) -> None:
        if isinstance(each, Injection):
            self.injections[each.network, each.compiler, each.threads, each.slowdown_percent] = each
        else:
            self.judgements[each.cell, each.rule] = each


def _parse(data: dict[str, Any]) -> Injection | Judgement:
    if "rule" in data:
        return Judgement(**data | {"cell": Cell(**data["cell"])})
    return Injection(**data)
