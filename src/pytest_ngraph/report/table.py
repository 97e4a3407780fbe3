"""Aligned columns; the least important ones are left out where the line is too short."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

GAP = "  "


@dataclass(frozen=True, kw_only=True)
class Column:
    """A column of a table.

    Attributes:
        rank: 0 is always shown; among the others, the highest is left out first.
        left: whether cells are aligned to the left.
    """

    heading: str
    cells: Sequence[str]
    rank: int = 0
    left: bool = False

    @cached_property
    def width(self) -> int:
        return max(map(len, (self.heading, *self.cells)))

    def line(self, row: int | None) -> str:
        """Return a cell padded to the column's width; the heading for None."""
        text = self.heading if row is None else self.cells[row]
        return text.ljust(self.width) if self.left else text.rjust(self.width)


def fitting(columns: Sequence[Column], width: int) -> list[Column]:
    """Return the columns that fit beside each other, in their order."""
    shown = list(columns)
    while sum(column.width + len(GAP) for column in shown) - len(GAP) > width:
        least = max(shown, key=lambda column: column.rank)
        if least.rank == 0:
            break
        shown.remove(least)
    return shown


def row(columns: Sequence[Column], index: int | None) -> str:
    """Return one line of the table; its heading for None."""
    return GAP.join(column.line(index) for column in columns)
