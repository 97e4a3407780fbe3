"""What is tried: settings, cells, and the order in which they are run."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import product

NETWORKS = ("convolutions", "attention")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One base and one head, to be judged.

    condition: what else the machine does. threads: cores that the networks compute on.
    slowdown_percent: what is injected into the head. index: counts the cells that are alike in all this.
    """

    condition: str
    threads: int
    compiler: str
    slowdown_percent: float
    index: int

    @property
    def network(self) -> str:
        """Cells take turns."""
        return NETWORKS[self.index % len(NETWORKS)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """Cells that are judged together, in one run of pytest."""

    condition: str
    threads: int
    cells: tuple[Cell, ...]


def plan(
    *,
    conditions: Sequence[str],
    threads: Sequence[int],
    compilers: Sequence[str],
    slowdowns_percent: Sequence[float],
    count: int,
    done: Collection[Cell] = (),
    most: int,
) -> list[Session]:
    """Sessions of at most `most` cells, until there are `count` of each kind, those done included. Conditions and
    slowdowns take turns, so that wherever it is stopped there are about as many of each."""
    queues = {
        (condition, number): [
            cell
            for index, slowdown, compiler in product(range(count), slowdowns_percent, compilers)
            if (
                cell := Cell(
                    condition=condition, threads=number, compiler=compiler, slowdown_percent=slowdown, index=index
                )
            )
            not in done
        ]
        for condition, number in product(conditions, threads)
    }
    longest = max(map(len, queues.values()), default=0)
    return [
        Session(condition=condition, threads=number, cells=tuple(queue[start : start + most]))
        for start in range(0, longest, most)
        for (condition, number), queue in queues.items()
        if queue[start:]
    ]
