"""From one profile to where its time goes, or from two to where they differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from pytest_ngraph.explain import fusions, graphs
from pytest_ngraph.explain.counters import Counter, counted
from pytest_ngraph.explain.fusions import CompiledDifference
from pytest_ngraph.explain.graphs import GraphDifference
from pytest_ngraph.explain.moves import with_heads_paths
from pytest_ngraph.explain.profile import Profile
from pytest_ngraph.explain.rows import Row, Series
from pytest_ngraph.explain.split_off import split_off
from pytest_ngraph.stats import Estimate, without_infinities

LEAST_COVERAGE = 0.8
"""Below this share of the latency, profiles do not say enough of a call to name modules."""
SLOWED = 1.2
"""Above it, the profiler itself takes a good part of the time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Where one case spends its time, or where two differ.

    Attributes:
        names: of the cases.
        latency_s: seconds per call of each case, timed without a profiler.
        difference_s: how many more the second takes; None for one case.
        coverage: profiled time over timed latency, of each case.
        mapped: share of each case's profiled time that has a module or is a layout change.
        rows: parts that add up to the latencies, the weightiest first.
        explained: share of the latency, or of the difference, in rows about modules, operators and layout changes.
        graph: what differs between the two programs; None for one case, and for two of one program.
        compiled: what compiling made differently of the two; None for one case.
        counters: what the processor did in a call.
        uncounted: why that is not known, or not all of it; empty where it is.
    """

    names: tuple[str, ...]
    latency_s: tuple[Estimate, ...]
    difference_s: Estimate | None
    coverage: tuple[float, ...]
    mapped: tuple[float, ...]
    rows: tuple[Row, ...]
    explained: float
    graph: GraphDifference | None
    compiled: CompiledDifference | None
    counters: tuple[Counter, ...] = ()
    uncounted: str = ""

    @property
    def names_modules(self) -> bool:
        """Whether the profiles cover enough of the latency to name modules."""
        return all(coverage >= LEAST_COVERAGE for coverage in self.coverage)

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready data. An estimate is `[value, low, high]`, with null for a bound not known."""
        data: dict[str, Any] = without_infinities(asdict(self))
        parts = {"graph": self.graph, "compiled": self.compiled}
        return data | {name: part.to_dict() if part else None for name, part in parts.items()}


def explain(profiles: Sequence[Profile], depth: int | None = None, *, fuses_alike: bool = False) -> Explanation:
    """Explain one profile, or the difference of two whose blocks ran in turn.

    Args:
        profiles: one or two, with equally many blocks, at least one.
        depth: most names along the path of a module that gets a row; None for the depth where something happens.
        fuses_alike: whether two cases are by one compiler. A kernel then counts for the module of its only convolution
            or product, modules are opened in which kernels span several parts, and modules of the first have the paths
            that they have in the second.
    """
    moved: Mapping[str, str] = {}
    if fuses_alike and len(profiles) == 2:
        base, head = profiles
        base, moved = with_heads_paths(base, head)
        profiles = base, head
    graph = _graph(profiles, moved)
    due = split_off(profiles, graph) if graph and fuses_alike else ()
    series = Series(profiles, due, fuses_alike=fuses_alike)
    coverage = tuple(float(np.median(share)) for share in series.profiled / series.latency)
    rows = series.by_module(depth) if min(coverage) >= LEAST_COVERAGE else series.by_operator()
    known = [row.share for row in rows if row.kind != "unattributed"]
    return Explanation(
        names=tuple(profile.name for profile in profiles),
        latency_s=series.of_each(series.latency),
        difference_s=series.difference(series.latency),
        coverage=coverage,
        mapped=series.mapped(),
        rows=(*sorted(rows, key=lambda row: abs(row.share), reverse=True), series.outside()),
        explained=sum(known),
        counters=counted(profiles),
        uncounted=profiles[-1].uncounted,
        graph=graph,
        compiled=_compiled(profiles, graph),
    )


def _compiled(profiles: Sequence[Profile], graph: GraphDifference | None) -> CompiledDifference | None:
    """Return what was compiled differently; None for one case."""
    if len(profiles) == 1:
        return None
    base, head = profiles
    return fusions.compare(base, head, graph.matched if graph else None)


def _graph(profiles: Sequence[Profile], moved: Mapping[str, str]) -> GraphDifference | None:
    """Return what differs between two programs; None for one program."""
    if len(profiles) == 1:
        return None
    base, head = profiles
    return graphs.compare(base.nodes, head.nodes, moved) if moved or base.nodes != head.nodes else None
