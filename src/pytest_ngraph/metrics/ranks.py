"""Rank inversions: workloads whose order by throughput is reversed by a compiler or a device (study, Figure 1)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from itertools import combinations

import numpy as np

from pytest_ngraph.case import IDENTITY, Case
from pytest_ngraph.metrics.between import NORMAL, TAIL, Between, Spread, Uncertainty, log_distance, with_between
from pytest_ngraph.metrics.cells import Cells
from pytest_ngraph.metrics.grouping import numbered
from pytest_ngraph.metrics.metric import Inversion, Metric, Scope
from pytest_ngraph.metrics.panels import AT_ONCE
from pytest_ngraph.metrics.sampled import Rows
from pytest_ngraph.stats import Estimate

MOST_WORKLOADS = 200
"""With more workloads there is no comparison: the pairs, and so the inversions, grow with the square of this."""

Arm = tuple[str, str]
"""Compiler and device."""
Place = tuple[int, str, str]
"""Batch size, precision and objective. Workloads are compared only at the same place."""
Networks = Mapping[int, int]
"""The indices of an arm's cases by the number of the network: workload with arguments, depth, width, other sizes."""


def rank_inversions(cells: Cells, between: Between) -> Iterator[tuple[Metric, list[Inversion]]]:
    """Yield the number of inversions, and the inversions, for every two arms that share at least two workloads.

    The first arm of a pair is the reference: identity where it is one of them. It is an inversion if other processes
    would surely show both orders, too, each at the level of an interval.
    """
    rows = np.flatnonzero(cells.measured)
    for scope, here, there, shared in arms_compared([cells.cases[row] for row in rows.tolist()]):
        if len(shared) > MOST_WORKLOADS:
            reason = f"{len(shared)} workloads are too many to compare pair by pair; the limit is {MOST_WORKLOADS}"
            yield Metric("rank_inversions", scope, absent=reason), []
        else:
            pairs = [(index, there[network]) for network, index in here.items() if network in shared]
            references, others = rows[np.array(pairs).T]
            inversions = list(_inversions(cells, references, others, between))
            yield Metric("rank_inversions", scope, Estimate.exactly(len(inversions))), inversions


def arms_compared(cases: Sequence[Case]) -> Iterator[tuple[Scope, Networks, Networks, Set[int]]]:
    """Yield every two arms of these cases that share at least two workloads.

    Each item is the scope of their inversions, the indices of the cases of the reference and of the other arm, and the
    numbers of the networks that both have.
    """
    for arms in _places(cases).values():
        for each in combinations(sorted(arms, key=_as_reference), 2):
            here, there = (arms[arm] for arm in each)
            if len(shared := here.keys() & there.keys()) > 1:
                yield scope_between(*(cases[next(iter(own.values()))] for own in (here, there))), here, there, shared


def scope_between(reference: Case, other: Case) -> Scope:
    """Return the scope of the inversions between the arms of two cases, which differ in compiler or device only."""
    return Scope(
        compiler=other.compiler,
        batch_size=other.batch_size,
        precision=other.precision,
        objective=other.objective,
        device=other.device,
        against=reference.compiler
        if reference.device == other.device
        else f"{reference.compiler} on {reference.device}",
    )


def _inversions(cells: Cells, references: Rows, others: Rows, between: Between) -> Iterator[Inversion]:
    """Yield the inversions, given each workload's rows: under the reference and under the other arm."""
    before, after = (np.log(cells.batch_sizes[rows] / cells.latency_s.values[rows]) for rows in (references, others))
    # Intervals are costly: they are computed only where the values themselves are reversed, and by more than processes
    # differ. A sum of two parts reaches at least as far as one of them, and Student's t at least as far as the normal.
    least = NORMAL * between.pair.deviation
    reversed_ = (before[:, None] - before[None, :] > least) & (after[None, :] - after[:, None] > least)
    winners, losers = np.nonzero(reversed_)
    if not len(winners):
        return
    under_reference, there = cells.throughput(references), cells.throughput(others)
    for begin in range(0, len(winners), AT_ONCE):
        won, lost = winners[begin : begin + AT_ONCE], losers[begin : begin + AT_ONCE]
        befores = (under_reference.take(won) / under_reference.take(lost)).estimates()
        afters = (there.take(won) / there.take(lost)).estimates()
        for each in np.flatnonzero((befores.lows > 1) & (afters.highs < 1)).tolist():
            spread_before, spread_after = (
                between.of_ratio(cells.sessions[rows[won[each]]], cells.sessions[rows[lost[each]]])
                for rows in (references, others)
            )
            if not (_surely_differs(befores[each], spread_before) and _surely_differs(afters[each], spread_after)):
                continue
            arm = cells.cases[others[won[each]]]
            yield Inversion(
                winner=cells.cases[references[won[each]]],
                loser=cells.cases[references[lost[each]]],
                compiler=arm.compiler,
                device=arm.device,
                before=with_between(befores[each], spread_before),
                after=with_between(afters[each], spread_after),
            )


def _surely_differs(ratio: Estimate, spread: Spread) -> bool:
    """Return whether a ratio is surely above 1, or surely below it, the part between processes included."""
    nearest = ratio.low if ratio.value > 1 else ratio.high
    within = log_distance(ratio.value, nearest) / NORMAL
    return Uncertainty(within, spread).excludes(log_distance(ratio.value, 1.0), TAIL)


def _places(cases: Sequence[Case]) -> Mapping[Place, Mapping[Arm, Networks]]:
    places: dict[Place, dict[Arm, dict[int, int]]] = defaultdict(lambda: defaultdict(dict))
    networks = numbered(((case.model_label, case.depth, case.width, case.sizes) for case in cases), len(cases))
    for index, (case, network) in enumerate(zip(cases, networks.tolist(), strict=True)):
        place = case.batch_size, case.precision, case.objective
        places[place][case.compiler, case.device][network] = index
    return places


def _as_reference(arm: Arm) -> tuple[bool, Arm]:
    """Return the sort key of an arm: identity comes first, the others in an order that is the same in every run."""
    return arm[0] != IDENTITY, arm
