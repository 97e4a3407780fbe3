"""The trials: their cells, and the order in which these are run."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import product

NETWORKS = ("convolutions", "attention")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One base and one head, to be judged.

    Attributes:
        condition: other load on the machine.
        threads: number of cores on which the networks compute.
        compiler: compiler of the networks.
        slowdown_percent: slowdown injected into the head.
        index: counts the cells that are equal in all of the above.
    """

    condition: str
    threads: int
    compiler: str
    slowdown_percent: float
    index: int

    @property
    def network(self) -> str:
        """The network of this cell: cells alternate between the networks."""
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
    """Return sessions of at most `most` cells that bring each kind to `count` cells, those done included.

    Conditions and slowdowns alternate, so that there are about as many of each whenever the trials are stopped.
    """
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
