"""Names of axes that are formulas of other names: `past + 1`, `2*batch`. Pure: texts and sizes in, a size out."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

NAME = r"[A-Za-z_][\w.]*"
FORMULA = re.compile(rf"(?:{NAME}|\d+)(?:(?:\s*[+*]\s*|\s+-\s+)(?:{NAME}|\d+))*")
"""Sums and products. A minus without spaces is part of a name: `sequence-length`."""


def names_in(formula: str) -> list[str]:
    """Return the names in a formula, which may be one name alone; none of what is no formula."""
    return re.findall(NAME, formula) if FORMULA.fullmatch(formula) else []


def size_of(formula: str, sizes: Mapping[str, int]) -> int | None:
    """Return what a formula comes to; None where it has no names, or a size of one is not known."""
    names = names_in(formula)
    if not names or any(name not in sizes for name in names):
        return None
    total = 0
    for sign, product in re.findall(r"([+-]?)([^+-]+)", formula):
        factors = [int(each) if each.isdigit() else sizes[each] for each in map(str.strip, product.split("*"))]
        total += math.prod(factors) * (-1 if sign == "-" else 1)
    return total if total >= 0 else None
