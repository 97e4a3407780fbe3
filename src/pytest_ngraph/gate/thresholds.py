"""Thresholds as text: `metric[selectors] op value[unit] [if key=value and key=value...]` states what breaches.

bsr<0.9
ase[b=16]<0.5
speedup<1.2 if compiler=openvino
throughput<100 if workload=swin* and b=8
peak_memory>2GiB
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase

from pytest_ngraph.case import Case, CompilerSpec
from pytest_ngraph.errors import UsageError
from pytest_ngraph.metrics import DEFINITIONS, Metric, Scope
from pytest_ngraph.metrics.definitions import SPANNED, Unit

Selector = tuple[str, str | int]
"""A field of a case and what it must be: a number, or a pattern in which * and ? stand for any characters."""

OPERATORS: dict[str, Callable[[float, float], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}
NUMBERS = {"b": "batch_size", "d": "depth", "w": "width"}
PATTERNS = ("compiler", "workload", "device", "precision", "objective")
KEYS = {**NUMBERS, **{name: name for name in NUMBERS.values()}, **{name: name for name in PATTERNS}}
UNITS: dict[Unit, dict[str, float]] = {
    "s": {"": 1, "s": 1, "ms": 1e-3, "us": 1e-6, "min": 60, "h": 3600},
    "B": {
        "": 1,
        "B": 1,
        **{f"{prefix}iB": 1024.0**power for power, prefix in enumerate("KMGT", 1)},
        **{f"{prefix}B": 1000.0**power for power, prefix in enumerate(("k", "M", "G", "T"), 1)},
    },
    "%": {"": 1, "%": 1},
    "ratio": {"": 1, "%": 0.01},
}
EXAMPLE = "Example: 'ase[b=16]<0.5 if compiler=openvino'."

_NAME = re.compile(r"[A-Za-z_][\w.]*")
_LIMIT = re.compile(r"([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*([A-Za-z%/]*)")
_NEXT_SELECTOR = re.compile(rf",\s*(?=(?:{'|'.join(KEYS)})\s*=)")


@dataclass(frozen=True, slots=True)
class Threshold:
    """What breaches: metrics of this name, of the cases selected, on this side of the limit.

    limit: as written, in `unit`; `bound` is in the metric's own unit.
    """

    metric: str
    op: str
    limit: float
    unit: str = ""
    selectors: tuple[Selector, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Threshold:
        """Read a threshold. Raises `UsageError` that says where the text stopped making sense."""
        return _Reader(text).threshold()

    def __str__(self) -> str:
        number = f"{self.limit!r}".removesuffix(".0")
        short = {name: letter for letter, name in NUMBERS.items()}
        sizes = ",".join(f"{short[key]}={value}" for key, value in self.selectors if key in short)
        names = " and ".join(f"{key}={value}" for key, value in self.selectors if key not in short)
        bracket, condition = f"[{sizes}]" if sizes else "", f" if {names}" if names else ""
        return f"{self.metric}{bracket}{self.op}{number}{self.unit}{condition}"

    @property
    def bound(self) -> float:
        """The limit in the metric's own unit: seconds, bytes, per cent or a plain ratio."""
        return self.limit * _units(self.metric)[self.unit]

    def breaches(self, value: float) -> bool:
        """Whether a value lies on the side that breaches."""
        return OPERATORS[self.op](value, self.bound)

    def selects(self, metric: Metric) -> bool:
        """Whether this threshold is about the metric."""
        return metric.name == self.metric and all(_matches(metric.scope, *selector) for selector in self.selectors)


class _Reader:
    """Reads one threshold from left to right."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def threshold(self) -> Threshold:
        name = self._metric()
        selectors = self._bracket(name)
        op = self._operator()
        limit, unit = self._limit(name)
        selectors |= self._condition(name)
        return Threshold(name, op, limit, unit, tuple(sorted(selectors.items())))

    def _metric(self) -> str:
        match = self._take(_NAME)
        if match is None:
            raise self._error(f"expected the name of a metric; known: {', '.join(DEFINITIONS)}")
        name = match[0]
        if "." in name or name in DEFINITIONS:
            return name
        for definition in DEFINITIONS.values():
            if definition.short_name == name:
                return definition.name
        near = get_close_matches(name, DEFINITIONS, n=1)
        suggestion = f" Did you mean {near[0]!r}?" if near else ""
        self._at = match.start()
        known = f"{', '.join(DEFINITIONS)}; one of your own has a dot in its name"
        raise self._error(f"unknown metric {name!r}.{suggestion} Known: {known}")

    def _bracket(self, metric: str) -> dict[str, str | int]:
        if self._take(re.compile(r"\[")) is None:
            return {}
        # A pattern may hold brackets of its own: the last one before the operator ends the selectors.
        match = self._take(re.compile(r"[^<>]*\]"))
        if match is None:
            raise self._error("expected selectors and a closing ']'")
        selectors = self._selectors(metric, _NEXT_SELECTOR.split(match[0][:-1]))
        self._at = match.end()
        return selectors

    def _operator(self) -> str:
        if self._text[self._at :].lstrip().startswith(":"):
            raise self._error(
                "this form compares with a baseline, which this run has not. Give an absolute limit, such as "
                "'throughput<100'"
            )
        match = self._take(re.compile(r"<=|>=|<|>"))
        if match is None:
            raise self._error(f"expected one of {' '.join(OPERATORS)}")
        return match[0]

    def _limit(self, metric: str) -> tuple[float, str]:
        match = self._take(_LIMIT)
        if match is None:
            raise self._error("expected a number")
        number, unit = match[1], match[2]
        if unit == "if":
            self._at, unit = match.start(2), ""
        known = _units(metric)
        if unit not in known:
            self._at = match.start(2)
            allowed = ", ".join(name for name in known if name) or "none"
            raise self._error(f"unknown unit {unit!r} of {metric}; known: {allowed}")
        limit = float(number)
        if not math.isfinite(limit):
            self._at = match.start()
            raise self._error("the limit is not finite")
        return limit, unit

    def _condition(self, metric: str) -> dict[str, str | int]:
        if not self._text[self._at :].strip():
            return {}
        if self._take(re.compile(r"if\b")) is None:
            raise self._error("expected 'if key=value' or the end")
        return self._selectors(metric, re.split(r"\s+and\s+", self._text[self._at :]))

    def _selectors(self, metric: str, parts: list[str]) -> dict[str, str | int]:
        selectors: dict[str, str | int] = {}
        for part in parts:
            self._at = self._text.rindex(part)
            key, equals, value = (piece.strip() for piece in part.partition("="))
            if key not in KEYS:
                raise self._error(f"unknown key {key!r}; known: {', '.join(KEYS)}")
            if not equals or not value:
                raise self._error(f"expected a value: {key}=...")
            field = KEYS[key]
            if field in selectors:
                raise self._error(f"{field} is selected twice")
            self._check_extent(metric, field)
            selectors[field] = self._number(key, value) if field in NUMBERS.values() else value
        return selectors

    def _number(self, key: str, value: str) -> int:
        if not re.fullmatch("[0-9]{1,9}", value):
            raise self._error(f"{key}={value}: {value!r} is not a whole number")
        return int(value)

    def _check_extent(self, metric: str, field: str) -> None:
        if metric in DEFINITIONS and field in SPANNED[DEFINITIONS[metric].extent]:
            raise self._error(f"{metric} extends over every {field.replace('_', ' ')}, so {field} cannot select it")

    def _take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        while self._text[self._at : self._at + 1].isspace():
            self._at += 1
        match = pattern.match(self._text, self._at)
        if match is not None:
            self._at = match.end()
        return match

    def _error(self, problem: str) -> UsageError:
        rest = self._text[self._at :].strip()
        where = f"at {rest!r}" if rest else "at its end"
        return UsageError(f"threshold {self._text!r}, {where}: {problem}. {EXAMPLE}")


def _units(metric: str) -> dict[str, float]:
    unit: Unit = DEFINITIONS[metric].unit if metric in DEFINITIONS else "count"
    return UNITS.get(unit, {"": 1})


def _matches(scope: Case | Scope, field: str, wanted: str | int) -> bool:
    if isinstance(wanted, int):
        return bool(getattr(scope, field) == wanted)
    names = {
        "compiler": (scope.compiler, CompilerSpec.parse(scope.compiler).name),
        "workload": (scope.workload or "", scope.model_label),
    }.get(field) or (getattr(scope, field),)
    return any(fnmatchcase(name, wanted) for name in names)
