"""How metrics answer to the times of the cases that they are computed from.

Throughputs, their products and quotients are linear in logarithms, and so is the friction's fit. What a metric changed
by, from one revision to another, is therefore a weighted sum of what its cases did, each compared on its own.
"""

from __future__ import annotations

import dataclasses
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from pytest_ngraph.case import IDENTITY, Case
from pytest_ngraph.metrics.metric import Scope, scope_of

Weights = Mapping[Case, float]
Cases = Mapping[int, Case]
"""Those that differ in one field only, by its value."""


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """Of one metric.

    weights: for each case, by how much the metric's logarithm grows as that of the case's seconds per iteration does;
    for friction and its mitigation, by how much the metric itself grows.
    """

    name: str
    scope: Case | Scope
    weights: Weights


def sensitivities(cases: Iterable[Case]) -> Iterator[Sensitivity]:
    """That of every metric which follows from the times of these cases alone. What is so by definition is left out
    (identity's speedup, the scaling at batch size 1), and so is what lacks a case."""
    known = dict.fromkeys(cases).keys()
    for case in known:
        yield from (Sensitivity(name, case, w) for name, w in _of_case(case) if w and w.keys() <= known)
    curves = _grouped(known, "batch_size")
    for scope, curve in curves.items():
        yield from _of_curve(scope, curve, curves.get(dataclasses.replace(scope, compiler=IDENTITY), {}))
    for scope, stack in _grouped([case for case in known if case.depth is not None], "depth").items():
        yield from (each for each in _of_stack(scope, stack) if each.weights.keys() <= known)


def _of_case(case: Case) -> Iterator[tuple[str, Weights]]:
    """After the definitions in the study's section V-A4 and V-C."""
    yield "throughput", {case: -1.0}
    yield "latency_s", {case: 1.0}
    yield "speedup", _speedup(case)
    yield "rtr", _rtr(case)
    yield "ase", _rtr(case)
    yield "bsr", _sum((1.0, _rtr(case)), (-1.0, _rtr(_under_identity(case))))


def _of_curve(scope: Scope, curve: Cases, identity: Cases) -> Iterator[Sensitivity]:
    """curve: the cases of one compiler by batch size; identity: those of the same under identity."""
    if 1 not in curve or len(curve) < 2:
        return
    yield Sensitivity("friction", scope, _friction(curve))
    if scope.compiler != IDENTITY and identity.keys() == curve.keys():
        mitigation = _sum((1.0, _friction(identity)), (-1.0, _friction(curve)))
        yield Sensitivity("friction_mitigation", scope, mitigation)


def _of_stack(scope: Scope, stack: Cases) -> Iterator[Sensitivity]:
    """stack: the cases of one compiler and batch size by depth."""
    if 1 in stack and len(stack) > 1 and scope.compiler != IDENTITY:
        weights = _sum((1.0, _speedup(stack[max(stack)])), (-1.0, _speedup(stack[1])))
        yield Sensitivity("depth_retention", scope, weights)


def _speedup(case: Case) -> Weights:
    return _sum((-1.0, {case: 1.0}), (1.0, {_under_identity(case): 1.0}))


def _rtr(case: Case) -> Weights:
    return _sum((-1.0, {case: 1.0}), (1.0, {dataclasses.replace(case, batch_size=1): 1.0}))


def _friction(curve: Cases) -> Weights:
    """Of φ = -Σ ln b ln ASE(b) / Σ (ln b)², where ln ASE(b) falls with b's time and grows with batch size 1's."""
    squares = sum(math.log(size) ** 2 for size in curve)
    return _sum(*((-math.log(size) / squares, _rtr(case)) for size, case in curve.items()))


def _under_identity(case: Case) -> Case:
    return dataclasses.replace(case, compiler=IDENTITY)


def _sum(*terms: tuple[float, Weights]) -> Weights:
    """Factors times weights, added up case by case; what cancels is left out."""
    total: dict[Case, float] = defaultdict(float)
    for factor, weights in terms:
        for case, weight in weights.items():
            total[case] += factor * weight
    return {case: weight for case, weight in total.items() if weight}


def _grouped(cases: Iterable[Case], field: str) -> dict[Scope, dict[int, Case]]:
    """The cases, taken together where they differ in this field only."""
    groups: dict[Scope, dict[int, Case]] = defaultdict(dict)
    for case in cases:
        groups[scope_of(case, spanned=field)][getattr(case, field)] = case
    return groups
