"""From one profile to where its time goes, or from two to where they differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from pytest_ngraph.explain import fusions
from pytest_ngraph.explain.fusions import CompiledDifference
from pytest_ngraph.explain.rows import Row, Series, plain
from pytest_ngraph.profile import Profile
from pytest_ngraph.stats import Estimate

LEAST_COVERAGE = 0.8
"""Below this share of the latency, profiles do not say enough of a call to name modules."""


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
        compiled: what the two compilers made differently of the program; None for one case.
    """

    names: tuple[str, ...]
    latency_s: tuple[Estimate, ...]
    difference_s: Estimate | None
    coverage: tuple[float, ...]
    mapped: tuple[float, ...]
    rows: tuple[Row, ...]
    explained: float
    compiled: CompiledDifference | None

    @property
    def names_modules(self) -> bool:
        """Whether the profiles cover enough of the latency to name modules."""
        return all(coverage >= LEAST_COVERAGE for coverage in self.coverage)

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready data. An estimate is `[value, low, high]`, with null for a bound not known."""
        data = {name: plain(value) for name, value in asdict(self).items()}
        return data | {"compiled": self.compiled.to_dict() if self.compiled else None}


def explain(profiles: Sequence[Profile], depth: int | None = None) -> Explanation:
    """Explain one profile, or the difference of two whose blocks ran in turn.

    Args:
        profiles: one or two, with equally many blocks, at least one.
        depth: most names along the path of a module that gets a row; None for the depth where something happens.
    """
    series = Series(profiles)
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
        compiled=fusions.compare(profiles[0], profiles[1]) if len(profiles) == 2 else None,
    )
