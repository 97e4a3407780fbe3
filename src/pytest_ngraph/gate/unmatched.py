"""Why a threshold selects no metric: which of its selectors fits none, and what there is in its place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pytest_ngraph.case import Case
from pytest_ngraph.gate.threshold_text import NUMBERS, TEXTS
from pytest_ngraph.gate.thresholds import Threshold
from pytest_ngraph.metrics import Metric, Scope
from pytest_ngraph.wording import listed

MOST = 6
"""Values that a message lists."""


def reason(threshold: Threshold, measured: Sequence[Metric]) -> str:
    """Return the reason in words: `batch_size is 1, 8`; empty where no single selector is one.

    Args:
        measured: the metrics of the threshold's name.
    """
    scopes = [metric.scope for metric in measured]
    wrong = [
        key
        for key, value in threshold.selectors
        if scopes and not any(replace(threshold, selectors=((key, value),)).selects(metric) for metric in measured)
    ]
    return "; ".join(_there_is(key, scopes) for key in wrong)


def _there_is(key: str, scopes: Sequence[Case | Scope]) -> str:
    if values := _values(key, scopes):
        return f"{key} is {values}"
    sizes = [*NUMBERS.values(), *sorted({name for scope in scopes for name, _ in scope.sizes})]
    known = [f"{name} {values}" for name in sizes if (values := _values(name, scopes))]
    return f"there is no {key}" + (f"; the sizes are {', '.join(known)}" if known and key not in TEXTS else "")


def _values(key: str, scopes: Sequence[Case | Scope]) -> str:
    """Return the values of a selector's key, smallest first; empty where no scope has one."""
    is_field = key in (*NUMBERS.values(), *TEXTS)
    own = (getattr(scope, key, None) if is_field else dict(scope.sizes).get(key) for scope in scopes)
    found = {value for value in own if value}
    return listed([str(value) for value in sorted(found)], MOST)
