"""The type of the study's tables."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

NETWORK = ("device", "label", "depth", "width", "sizes", "precision", "objective")
"""The columns that compilers and batch sizes of one workload share."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Table:
    """A table of the study.

    Attributes:
        name: stem of its files.
        number: its number in the study, `VI`; empty for a table that the study does not have.
        note: what it shows and how that was computed.
        missing: why it has no rows, and what would fill it; empty if it has some.
    """

    name: str
    number: str = ""
    title: str
    note: str
    frame: pl.DataFrame
    missing: str = ""

    @classmethod
    def of(cls, name: str, title: str, note: str, frame: pl.DataFrame, *, number: str = "", missing: str) -> Table:
        """Return a table of these rows; `missing` is its reason if there are none."""
        reason = missing if frame.is_empty() else ""
        return cls(name=name, number=number, title=title, note=note, frame=frame, missing=reason)

    @property
    def heading(self) -> str:
        """The title with the study's number."""
        return f"{self.title} (Table {self.number})" if self.number else self.title
