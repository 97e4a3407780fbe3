"""What a table is."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

NETWORK = ("device", "label", "depth", "width", "precision", "objective")
"""The columns that compilers and batch sizes of one workload share."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Table:
    """A table of the study.

    name: the stem of its files. number: the study's, `VI`; empty for a table beyond it. note: what it shows and how
    it was computed. missing: why it has no rows, naming what would fill it; empty when it has some.
    """

    name: str
    number: str = ""
    title: str
    note: str
    frame: pl.DataFrame
    missing: str = ""

    @classmethod
    def of(cls, name: str, title: str, note: str, frame: pl.DataFrame, *, number: str = "", missing: str) -> Table:
        """A table of these rows; `missing` is told when there are none."""
        told = missing if frame.is_empty() else ""
        return cls(name=name, number=number, title=title, note=note, frame=frame, missing=told)

    @property
    def heading(self) -> str:
        """The title with the study's number."""
        return f"{self.title} (Table {self.number})" if self.number else self.title
