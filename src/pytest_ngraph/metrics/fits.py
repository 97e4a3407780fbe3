"""Metrics over several cases of one compiler: friction over batch sizes, slope and retention over depths.

A fit is only comparable with another over the same cells, so one that asked for a cell and did not get it is absent.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial

import numpy as np

from pytest_ngraph.case import IDENTITY, Case
from pytest_ngraph.metrics.cases import rtr
from pytest_ngraph.metrics.cells import Missing, Panel
from pytest_ngraph.metrics.metric import Metric, Scope
from pytest_ngraph.stats import Sampled, weighted_sum

Stack = Mapping[int, tuple[Panel, Case]]
"""One compiler's cases of a block by depth, each with the panel that it belongs to."""


def curve_metrics(panel: Panel) -> Iterator[Metric]:
    """Friction and its mitigation for every compiler of a panel that ran at more than one batch size."""
    for compiler, case in {cell.case.compiler: cell.case for cell in panel}.items():
        if len(panel.batch_sizes(compiler)) < 2:
            continue
        scope = scope_of(case, spanned="batch_size")
        yield _metric("friction", scope, partial(friction, panel, compiler))
        if compiler != IDENTITY:
            yield _metric("friction_mitigation", scope, partial(mitigation, panel, compiler))


def friction(panel: Panel, compiler: str) -> Sampled:
    """φ of the fit ASE(b) = b^-φ by least squares in logarithms through ASE(1) = 1. Raises `Missing`."""
    batch_sizes = [b for b in panel.batch_sizes(compiler) if b > 1]
    log_sizes = np.log(batch_sizes)
    efficiencies = [rtr(panel, compiler, b).scaled(1 / b).log() for b in batch_sizes]
    return weighted_sum(-log_sizes / (log_sizes @ log_sizes), efficiencies)


def mitigation(panel: Panel, compiler: str) -> Sampled:
    """φ_identity - φ_c over the same batch sizes. Raises `Missing`."""
    own, identity = panel.batch_sizes(compiler), panel.batch_sizes(IDENTITY)
    if own != identity:
        raise Missing(f"{compiler} has batch sizes {_listed(own)} and identity {_listed(identity) or 'none'}")
    return weighted_sum(np.array([1.0, -1.0]), [friction(panel, IDENTITY), friction(panel, compiler)])


def stack_metrics(panels: Iterable[Panel]) -> Iterator[Metric]:
    """Depth slope and retention for every compiler and batch size at which a block ran at more than one depth."""
    for scope, stack in _stacks(panels).items():
        if len(stack) > 1:
            yield _metric("depth_slope", scope, partial(depth_slope, stack))
            yield _metric("depth_retention", scope, partial(depth_retention, stack))


def depth_slope(stack: Stack) -> Sampled:
    """Least-squares slope of the speedup over depth (study V-C). Raises `Missing`."""
    depths = np.array(sorted(stack), dtype=float)
    centred = depths - depths.mean()
    return weighted_sum(centred / (centred @ centred), [_speedup(stack, depth) for depth in sorted(stack)])


def depth_retention(stack: Stack) -> Sampled:
    """Speedup of the deepest stack over that of a single block (study V-C). Raises `Missing`."""
    if 1 not in stack:
        raise Missing("depth 1 was not measured")
    return _speedup(stack, max(stack)) / _speedup(stack, 1)


def scope_of(case: Case, spanned: str) -> Scope:
    """The scope of a metric of a case's compiler over all values of one field."""
    fields = {field.name: getattr(case, field.name) for field in dataclasses.fields(case)}
    return Scope(**fields | {spanned: None})


def _metric(name: str, scope: Scope, formula: Callable[[], Sampled]) -> Metric:
    try:
        return Metric(name, scope, formula().estimate())
    except Missing as reason:
        return Metric(name, scope, absent=str(reason))


def _speedup(stack: Stack, depth: int) -> Sampled:
    panel, case = stack[depth]
    try:
        return panel.speedup(case.compiler, case.batch_size)
    except Missing as reason:
        raise Missing(f"depth {depth}: {reason}") from None


def _stacks(panels: Iterable[Panel]) -> dict[Scope, dict[int, tuple[Panel, Case]]]:
    stacks: dict[Scope, dict[int, tuple[Panel, Case]]] = defaultdict(dict)
    for panel in panels:
        for cell in panel:
            case = cell.case
            if case.depth is not None and case.compiler != IDENTITY:
                stacks[scope_of(case, spanned="depth")][case.depth] = panel, case
    return stacks


def _listed(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers))
