"""Single calls: how many are timed in one turn, and with which digits their times are stored."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from pytest_ngraph.wording import significant

DIGITS = 4
"""Significant digits of a stored call: a hundredth of a percent of it or better, in half the space of all digits."""


class Block(NamedTuple):
    """Single calls to time in one turn: `calls` of them, of every so many the last."""

    calls: int
    every: int


def rounded(seconds: Iterable[float]) -> list[float]:
    """Return times of single calls with the digits that are stored."""
    return [significant(each, DIGITS) for each in seconds]
