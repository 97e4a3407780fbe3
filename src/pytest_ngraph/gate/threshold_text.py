"""Thresholds as text: `metric[selectors] op value[unit] [if key=value and key=value...]` states what breaches.

A relative threshold has a colon as its operator, and states by how much a metric may be worse than the base's.

bsr<0.9
ase[b=16]<0.5
speedup<1.2 if compiler=openvino
throughput<100 if workload=swin* and b=8
worker_memory>2GiB
bsr[b=16]:5% if compiler=openvino
friction:0.05
rank_inversions:new
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Collection
from difflib import get_close_matches

from pytest_ngraph.errors import UsageError
from pytest_ngraph.metrics import DEFINITIONS
from pytest_ngraph.metrics.definitions import SPANNED, Unit

Selector = tuple[str, str | int]
"""A field of a case and its required value: a number, or a pattern with * and ? as wildcards."""
Parts = tuple[str, str, float, str, tuple[Selector, ...]]
"""Metric, operator, limit, its unit, and selectors."""

OPERATORS: dict[str, Callable[[float, float], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}
RELATIVE = ":"
NEW = "new"
"""In place of a limit: only what the base did not have breaches."""
NUMBERS = {"b": "batch_size", "d": "depth", "w": "width"}
PATTERNS = ("compiler", "workload", "device", "precision", "objective")
TEXTS = (*PATTERNS, "over")
"""Keys with texts as values. `over` selects metrics of the scaling over one size of the user's own by its name."""
KEYS = {**NUMBERS, **{name: name for name in NUMBERS.values()}, **{name: name for name in TEXTS}}
"""The field of a case by each key. Any other key with a whole number selects by a size of the user's own."""
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
_BRACKET = re.compile(r"[^<>]*?\](?=\s*(?:[<>]|:\s*(?:[-+.\d]|new\b)))|[^<>]*\]")
"""Up to the closing bracket before an operator: a pattern may contain brackets and colons."""
_LIMIT = re.compile(r"([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*([A-Za-z%/]*)")
_NEXT_SELECTOR = re.compile(rf",\s*(?=(?:{'|'.join(KEYS)})\s*=)")
_OWN_SIZE = re.compile(r"[A-Za-z_][\w.]*\s*=\s*[0-9]{1,9}")


def read(text: str) -> Parts:
    """Read a threshold. Raises `UsageError`, which says where the text cannot be read."""
    return _Reader(text).parts()


class _Reader:
    """Reads one threshold from left to right."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def parts(self) -> Parts:
        name = self._metric()
        selectors = self._bracket(name)
        op = self._operator()
        limit, unit = self._loss(name) if op == RELATIVE else self._limit(name)
        selectors |= self._condition(name, selectors)
        return name, op, limit, unit, tuple(sorted(selectors.items()))

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
        known = f"{', '.join(DEFINITIONS)}; the name of a metric of your own must contain a dot"
        raise self._error(f"unknown metric {name!r}.{suggestion} Known: {known}")

    def _bracket(self, metric: str) -> dict[str, str | int]:
        if self._take(re.compile(r"\[")) is None:
            return {}
        match = self._take(_BRACKET)
        if match is None:
            raise self._error("expected selectors and a closing ']'")
        selectors = self._selectors(metric, _bracketed(match[0][:-1]), ())
        self._at = match.end()
        return selectors

    def _operator(self) -> str:
        match = self._take(re.compile(r"<=|>=|<|>|:"))
        if match is None:
            raise self._error(f"expected one of {' '.join((*OPERATORS, RELATIVE))}")
        return match[0]

    def _limit(self, metric: str) -> tuple[float, str]:
        number, unit, at = self._number_and_unit("expected a number")
        known = units_of(metric)
        if unit not in known:
            self._at = at
            allowed = ", ".join(name for name in known if name) or "none"
            raise self._error(f"unknown unit {unit!r} of {metric}; known: {allowed}")
        return number, unit

    def _loss(self, metric: str) -> tuple[float, str]:
        """Read by how much a metric may be worse than the base's."""
        definition = DEFINITIONS.get(metric)
        if definition is None or definition.change is None:
            held = ", ".join(each.name for each in DEFINITIONS.values() if each.change)
            raise self._error(f"{metric} cannot be compared with a base; these can: {held}")
        if definition.change == "new":
            if self._take(re.compile(rf"{NEW}\b")) is None:
                raise self._error(f"expected {NEW!r}: {metric}:{NEW}")
            return 0.0, NEW
        unit = "%" if definition.change == "share" else ""
        example = f"{metric}:5%" if unit else f"{metric}:0.05"
        wanted = f"expected a share in percent: {example}" if unit else f"expected a difference: {example}"
        start = self._at
        number, given, _ = self._number_and_unit(wanted)
        most = math.inf if definition.change == "share" and definition.better == "lower" else 100.0
        if given != unit or not 0 <= number < most:
            self._at = start
            raise self._error(wanted + (f", below {f'100 {unit}'.strip()}" if math.isfinite(most) else ""))
        return number, unit

    def _number_and_unit(self, wanted: str) -> tuple[float, str, int]:
        """Read a finite number and its unit. Return both, and where the unit begins."""
        match = self._take(_LIMIT)
        if match is None:
            raise self._error(wanted)
        unit, at = match[2], match.start(2)
        if unit == "if":
            self._at, unit = at, ""
        number = float(match[1])
        if not math.isfinite(number):
            self._at = match.start()
            raise self._error("the limit is not finite")
        return number, unit, at

    def _condition(self, metric: str, selected: Collection[str]) -> dict[str, str | int]:
        if not self._text[self._at :].strip():
            return {}
        if self._take(re.compile(r"if\b")) is None:
            raise self._error("expected 'if key=value' or the end")
        return self._selectors(metric, re.split(r"\s+and\s+", self._text[self._at :]), selected)

    def _selectors(self, metric: str, parts: list[str], selected: Collection[str]) -> dict[str, str | int]:
        selectors: dict[str, str | int] = {}
        for part in parts:
            self._at = self._text.rindex(part)
            key, equals, value = (piece.strip() for piece in part.partition("="))
            if key not in KEYS and not _OWN_SIZE.fullmatch(part.strip()):
                own = "any other key selects by a size of your own, as in seq_len=128"
                raise self._error(f"unknown key {key!r}; known: {', '.join(KEYS)}; {own}")
            if not equals or not value:
                raise self._error(f"expected a value: {key}=...")
            field = KEYS.get(key, key)
            if field in selectors or field in selected:
                raise self._error(f"{field} is selected twice")
            self._check_extent(metric, field)
            selectors[field] = value if field in TEXTS else self._number(key, value)
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


def _bracketed(text: str) -> list[str]:
    """Split the selectors of a bracket. What follows a compiler or workload may be its options or arguments."""
    parts = []
    for part in _NEXT_SELECTOR.split(text):
        pieces = [part] if part.lstrip().startswith(("compiler", "workload")) else part.split(",")
        own = [place for place, piece in enumerate(pieces) if place == 0 or _OWN_SIZE.fullmatch(piece.strip())]
        parts += [",".join(pieces[begin:end]) for begin, end in zip(own, [*own[1:], None], strict=True)]
    return parts


def units_of(metric: str) -> dict[str, float]:
    """Return the units in which a limit of this metric can be written, with their factors."""
    unit: Unit = DEFINITIONS[metric].unit if metric in DEFINITIONS else "count"
    return UNITS.get(unit, {"": 1})
