"""Results in a file that grows: a later call continues where an earlier one ended."""

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

    Attributes:
        slowdown_percent: the slowdown wanted.
        rows: excess rows.
        true_percent: the slowdown measured on the quiet machine.
        low_percent: low end of its 95 % interval.
        high_percent: high end of its 95 % interval.
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
    """A rule's judgement of a cell.

    Attributes:
        verdict: as the gate names it; other rules have only `regressed` and `unchanged`.
        ratio: the head's time over the base's, as this rule estimates it.
        measured_s: seconds of measuring, base and head together.
        wall_s: the cell's share of the seconds of its whole session.
        iterations: iterations of the base, and as many of the head; 0 where not known.
    """

    cell: Cell
    rule: str
    verdict: str
    ratio: float | None
    measured_s: float
    wall_s: float
    iterations: int = 0


class Results:
    """Injections and judgements by their subject. The one added last counts."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.injections: dict[tuple[str, str, int, float], Injection] = {}
        self.judgements: dict[tuple[Cell, str], Judgement] = {}
        for line in path.read_text().splitlines() if path.exists() else ():
            self._hold(_parse(json.loads(line)))

    def add(self, found: Iterable[Injection | Judgement]) -> None:
        """Keep the results in memory and write them to the file."""
        with self._path.open("a") as file:
            for each in found:
                self._hold(each)
                file.write(json.dumps(asdict(each)) + "\n")

    def injection_of(self, cell: Cell) -> Injection | None:
        """Return what is injected into the cell's head; None for nothing."""
        return self.injections.get((cell.network, cell.compiler, cell.threads, cell.slowdown_percent))

    def judged(self, rules: Iterable[str]) -> list[Cell]:
        """Return the cells that all these rules have judged."""
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
