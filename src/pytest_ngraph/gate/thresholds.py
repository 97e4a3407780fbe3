"""Thresholds: limits for metrics of selected cases. `threshold_text` says how they are written."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase

from pytest_ngraph.case import Case, CompilerSpec
from pytest_ngraph.gate.threshold_text import NEW, NUMBERS, OPERATORS, RELATIVE, TEXTS, Selector, read, units_of
from pytest_ngraph.metrics import DEFINITIONS, Metric, Scope


@dataclass(frozen=True, slots=True)
class Threshold:
    """A limit for a metric of the selected cases.

    Attributes:
        limit: as written, in `unit` (`bound` is in the metric's own unit). For a relative threshold, the tolerated
            loss: a share in percent, a difference, or nothing where the unit is `new`.
    """

    metric: str
    op: str
    limit: float
    unit: str = ""
    selectors: tuple[Selector, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Threshold:
        """Read a threshold. Raises `UsageError`, which says where the text cannot be read."""
        return cls(*read(text))

    def __str__(self) -> str:
        number = "" if self.unit == NEW else f"{self.limit!r}".removesuffix(".0")
        short = {name: letter for letter, name in NUMBERS.items()}
        sizes = ",".join(f"{short.get(key, key)}={value}" for key, value in self.selectors if key not in TEXTS)
        names = " and ".join(f"{key}={value}" for key, value in self.selectors if key in TEXTS)
        bracket, condition = f"[{sizes}]" if sizes else "", f" if {names}" if names else ""
        return f"{self.metric}{bracket}{self.op}{number}{self.unit}{condition}"

    @property
    def is_relative(self) -> bool:
        """Whether it compares a metric with the base's."""
        return self.op == RELATIVE

    @property
    def bound(self) -> float:
        """The limit in the metric's own unit: seconds, bytes, percent or a plain ratio.

        For a relative threshold, the tolerated share or difference.
        """
        if self.is_relative:
            return self.limit / 100 if self.unit == "%" else self.limit
        return self.limit * units_of(self.metric)[self.unit]

    def breaches(self, value: float) -> bool:
        """Return whether a value breaches this threshold, which must not be relative."""
        return OPERATORS[self.op](value, self.bound)

    @property
    def is_of_cases(self) -> bool:
        """Whether its metric belongs to single cases; a user's own metric may."""
        definition = DEFINITIONS.get(self.metric)
        return definition is None or definition.extent == "case"

    def selects(self, metric: Metric) -> bool:
        """Return whether this threshold applies to the metric."""
        return metric.name == self.metric and all(_matches(metric.scope, *selector) for selector in self.selectors)


def _matches(scope: Case | Scope, field: str, wanted: str | int) -> bool:
    if isinstance(wanted, int):
        return bool((getattr(scope, field) if field in NUMBERS.values() else dict(scope.sizes).get(field)) == wanted)
    names = {
        "compiler": (scope.compiler, CompilerSpec.parse(scope.compiler).name),
        "workload": (scope.workload or "", scope.model_label),
    }.get(field) or (getattr(scope, field, ""),)
    return any(fnmatchcase(name, wanted) for name in names)
