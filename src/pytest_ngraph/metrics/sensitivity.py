"""How metrics depend on the times of the cases from which they are computed.

Throughputs, their products and quotients are linear in logarithms, and so is the fit of the friction. So the change of
a metric from one revision to another is a weighted sum of the changes of its cases, each compared on its own.
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
"""Cases that differ in one field only, by its value."""


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """The sensitivity of one metric.

    Attributes:
        name: name of the metric.
        scope: scope of the metric.
        weights: for each case, the derivative of the metric's logarithm with respect to the logarithm of the case's
            seconds per iteration; for friction and its mitigation, the derivative of the metric itself.
    """

    name: str
    scope: Case | Scope
    weights: Weights


def sensitivities(cases: Iterable[Case]) -> Iterator[Sensitivity]:
    """Yield the sensitivity of every metric that depends on the times of these cases alone.

    Metrics that are constant by definition (identity's speedup, the scaling at batch size 1) and metrics that lack a
    case are left out.
    """
    known = dict.fromkeys(cases).keys()
    for case in known:
        yield from (Sensitivity(name, case, w) for name, w in _of_case(case) if w and w.keys() <= known)
    curves = _grouped(known, "batch_size")
    for scope, curve in curves.items():
        yield from _of_curve(scope, curve, curves.get(dataclasses.replace(scope, compiler=IDENTITY), {}))
    for scope, stack in _grouped([case for case in known if case.depth is not None], "depth").items():
        yield from (each for each in _of_stack(scope, stack) if each.weights.keys() <= known)


def _of_case(case: Case) -> Iterator[tuple[str, Weights]]:
    """Yield the weights of a case's metrics, after the definitions in the study's sections V-A4 and V-C."""
    yield "throughput", {case: -1.0}
    yield "latency_s", {case: 1.0}
    yield "speedup", _speedup(case)
    yield "rtr", _rtr(case)
    yield "ase", _rtr(case)
    yield "bsr", _sum((1.0, _rtr(case)), (-1.0, _rtr(_under_identity(case))))


def _of_curve(scope: Scope, curve: Cases, identity: Cases) -> Iterator[Sensitivity]:
    """Yield the sensitivities of a curve's metrics.

    Args:
        scope: scope of the metrics.
        curve: the cases of one compiler by batch size.
        identity: the same under identity.
    """
    if 1 not in curve or len(curve) < 2:
        return
    yield Sensitivity("friction", scope, _friction(curve))
    if scope.compiler != IDENTITY and identity.keys() == curve.keys():
        mitigation = _sum((1.0, _friction(identity)), (-1.0, _friction(curve)))
        yield Sensitivity("friction_mitigation", scope, mitigation)


def _of_stack(scope: Scope, stack: Cases) -> Iterator[Sensitivity]:
    """Yield the sensitivity of a stack's metric. `stack` has the cases of one compiler and batch size by depth."""
    if 1 in stack and len(stack) > 1 and scope.compiler != IDENTITY:
        weights = _sum((1.0, _speedup(stack[max(stack)])), (-1.0, _speedup(stack[1])))
        yield Sensitivity("depth_retention", scope, weights)


def _speedup(case: Case) -> Weights:
    return _sum((-1.0, {case: 1.0}), (1.0, {_under_identity(case): 1.0}))


def _rtr(case: Case) -> Weights:
    return _sum((-1.0, {case: 1.0}), (1.0, {dataclasses.replace(case, batch_size=1): 1.0}))


def _friction(curve: Cases) -> Weights:
    """Return the weights of φ = -Σ ln b ln ASE(b) / Σ (ln b)².

    ln ASE(b) falls with the time at batch size b and grows with the time at batch size 1.
    """
    squares = sum(math.log(size) ** 2 for size in curve)
    return _sum(*((-math.log(size) / squares, _rtr(case)) for size, case in curve.items()))


def _under_identity(case: Case) -> Case:
    return dataclasses.replace(case, compiler=IDENTITY)


def _sum(*terms: tuple[float, Weights]) -> Weights:
    """Return the sum of factors times weights, case by case, without those that cancel."""
    total: dict[Case, float] = defaultdict(float)
    for factor, weights in terms:
        for case, weight in weights.items():
            total[case] += factor * weight
    return {case: weight for case, weight in total.items() if weight}


def _grouped(cases: Iterable[Case], field: str) -> dict[Scope, dict[int, Case]]:
    """Group the cases that differ in this field only."""
    groups: dict[Scope, dict[int, Case]] = defaultdict(dict)
    for case in cases:
        groups[scope_of(case, spanned=field)][getattr(case, field)] = case
    return groups
