"""The record of a case that equals its base's: it is measured when a test first reads one of its figures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pytest_ngraph.record import Record

KNOWN = ("case", "comparison")
"""Attributes that need no measuring."""


class UnreadRecord:
    """Stands for a record until a figure is read, and for the measured record from then on.

    Args:
        record: record without measurements.
        measure: measures the case and returns the record.
    """

    def __init__(self, record: Record, measure: Callable[[], Record]) -> None:
        self._record = record
        self._measure: Callable[[], Record] | None = measure

    @property  # type: ignore[misc]
    def __class__(self) -> type[Record]:  # type: ignore[override]  # for `isinstance`
        return Record

    def __getattr__(self, name: str) -> Any:
        if name not in KNOWN and self._measure is not None:
            self._record, self._measure = self._measure(), None
        return getattr(self._record, name)
