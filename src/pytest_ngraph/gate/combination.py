"""What a weighted sum of log ratios is known to be, each from launches of its own."""

from __future__ import annotations

import math
from collections.abc import Iterable

from pytest_ngraph.gate.pooling import Pooled

EXACTLY_EQUAL = Pooled(0.0, 0.0, math.inf, 0)
"""The log ratio of two that start from the same graph, weights and options."""


def combine(terms: Iterable[tuple[float, Pooled]]) -> Pooled:
    """The sum of weights times log ratios that are independent of each other: each is to come once.

    Variances add; the degrees of freedom are Welch's (1947) and Satterthwaite's (1946). What is known exactly adds
    nothing to either. launches: the fewest that one of the others rests on.
    """
    weighted = [(weight, pooled) for weight, pooled in terms if weight and pooled.standard_error]
    if not weighted:
        return EXACTLY_EQUAL
    variances = [(weight * pooled.standard_error) ** 2 for weight, pooled in weighted]
    total = math.fsum(variances)
    return Pooled(
        mean=math.fsum(weight * pooled.mean for weight, pooled in weighted),
        standard_error=math.sqrt(total),
        dof=1 / sum((v / total) ** 2 / pooled.dof for v, (_, pooled) in zip(variances, weighted, strict=True)),
        launches=min(pooled.launches for _, pooled in weighted),
    )
