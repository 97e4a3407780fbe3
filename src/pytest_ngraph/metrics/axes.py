"""The axes along which cases scale: the batch size, and each size of the user's own."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass

from pytest_ngraph.case import Case
from pytest_ngraph.metrics.metric import FIELDS, Scope, scope_of


@dataclass(frozen=True, slots=True)
class BatchAxis:
    """The batch size. Its curves begin at 1, as the study's do."""

    name = "batch size"
    exponent, mitigation, relative = "friction", "friction_mitigation", ""

    def size(self, case: Case) -> int | None:
        """Return where the case lies on the axis; None where it lies on none."""
        return case.batch_size

    def lacks_reference(self, first: Case) -> str:
        """Return why the first case of a curve cannot be what the others are compared with; empty where it can."""
        return "" if first.batch_size == 1 else f"{first.compiler} was not measured at batch size 1"

    def scope(self, case: Case) -> Scope:
        """Return the scope of the case's curve along this axis."""
        return scope_of(case, spanned="batch_size")


@dataclass(frozen=True, slots=True)
class SizeAxis:
    """A size of the user's own. Its curves begin at the smallest size that a run has.

    Attributes:
        name: name of the size, `seq_len`.
    """

    name: str
    exponent, mitigation, relative = "growth", "growth_mitigation", "scaling"

    def size(self, case: Case) -> int | None:
        return dict(case.sizes).get(self.name)

    def lacks_reference(self, first: Case) -> str:
        return ""

    def scope(self, case: Case) -> Scope:
        others = tuple((name, size) for name, size in case.sizes if name != self.name)
        return dataclasses.replace(self.at(case), sizes=others)

    def at(self, case: Case) -> Scope:
        """Return the scope of a metric that compares the case with the first of its curve."""
        return Scope(**{name: getattr(case, name) for name in FIELDS}, over=self.name)


Axis = BatchAxis | SizeAxis


def axes_of(cases: Iterable[Case]) -> list[Axis]:
    """Return the batch and every size of the user's own that these cases have."""
    return [BatchAxis(), *map(SizeAxis, sorted({name for case in cases for name, _ in case.sizes}))]
