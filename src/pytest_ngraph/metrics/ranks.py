"""Rank inversions: workloads whose order by throughput is reversed by a compiler or a device (study, Figure 1)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations

import numpy as np

from pytest_ngraph.case import IDENTITY
from pytest_ngraph.metrics.cells import Cell, Panel
from pytest_ngraph.metrics.metric import Inversion, Metric, Scope
from pytest_ngraph.stats import Estimate

MOST_WORKLOADS = 200
"""More are not compared pair by pair: the pairs, and so the inversions, grow with their square."""

Arm = tuple[str, str]
"""Compiler and device."""
Place = tuple[int, str, str]
"""Batch size, precision and objective: only at the same place are workloads compared."""
Network = tuple[object, ...]
"""Workload, its arguments, depth and width."""
Cells = Mapping[Network, Cell]


def rank_inversions(panels: Iterable[Panel]) -> Iterator[tuple[Metric, list[Inversion]]]:
    """For every two arms that share at least two workloads: the number of inversions, and the inversions.

    The first arm of a pair is the reference: identity where it is one of them.
    """
    for arms in _places(panels).values():
        for reference, other in combinations(sorted(arms, key=_identity_first), 2):
            shared = [network for network in arms[reference] if network in arms[other]]
            if len(shared) > 1:
                cells = [(arms[reference][network], arms[other][network]) for network in shared]
                yield _compare(cells)


def _compare(cells: list[tuple[Cell, Cell]]) -> tuple[Metric, list[Inversion]]:
    scope = _scope(*cells[0])
    if len(cells) > MOST_WORKLOADS:
        reason = f"{len(cells)} workloads are too many to compare pair by pair; {MOST_WORKLOADS} are the most"
        return Metric("rank_inversions", scope, absent=reason), []
    inversions = list(_inversions(cells))
    return Metric("rank_inversions", scope, Estimate.exactly(len(inversions))), inversions


def _inversions(cells: list[tuple[Cell, Cell]]) -> Iterator[Inversion]:
    logs = np.log([[_value(before), _value(after)] for before, after in cells])
    differences = logs[:, None, :] - logs[None, :, :]
    # The values say in one stroke where an inversion can be; only there the intervals are worth their cost.
    for winner, loser in np.argwhere((differences[..., 0] > 0) & (differences[..., 1] < 0)):
        before = _ratio(cells[winner][0], cells[loser][0])
        after = _ratio(cells[winner][1], cells[loser][1])
        if before.low > 1 and after.high < 1:
            there = cells[winner][1].case
            yield Inversion(
                winner=cells[winner][0].case,
                loser=cells[loser][0].case,
                compiler=there.compiler,
                device=there.device,
                before=before,
                after=after,
            )


def _places(panels: Iterable[Panel]) -> Mapping[Place, Mapping[Arm, Cells]]:
    places: dict[Place, dict[Arm, dict[Network, Cell]]] = defaultdict(lambda: defaultdict(dict))
    for panel in panels:
        for cell in panel:
            case = cell.case
            if cell.throughput is not None:
                place = case.batch_size, case.precision, case.objective
                network = case.workload, case.model_args, case.depth, case.width
                places[place][case.compiler, case.device][network] = cell
    return places


def _identity_first(arm: Arm) -> bool:
    return arm[0] != IDENTITY


def _scope(reference: Cell, other: Cell) -> Scope:
    before, after = reference.case, other.case
    return Scope(
        compiler=after.compiler,
        batch_size=after.batch_size,
        precision=after.precision,
        objective=after.objective,
        device=after.device,
        against=before.compiler if before.device == after.device else f"{before.compiler} on {before.device}",
    )


def _value(cell: Cell) -> float:
    assert cell.throughput is not None
    return cell.throughput.value


def _ratio(winner: Cell, loser: Cell) -> Estimate:
    assert winner.throughput is not None
    assert loser.throughput is not None
    return (winner.throughput / loser.throughput).estimate()
