"""Labels at points of small panels: each at the side where it covers no other, or left out."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import NamedTuple

import altair as alt
import polars as pl

from pytest_ngraph.report.study.figures.panels import HEIGHT, WIDTH

TALL, PER_LETTER = 10.0, 6.0
"""Pixels of a label's height, and of the width of one of its letters."""
POINT = 3.0
"""Pixels from the centre of a point to its edge."""
AWAY = 9.0
"""Pixels from the centre of a point to that of a label above or below it."""
OFFSETS = {"above": (0.0, -AWAY), "right": (6.0, 0.0), "below": (0.0, AWAY), "left": (-6.0, 0.0)}
"""Where a label is anchored, by its side: pixels to the right of the point, and below it."""
ALIGNED = {"above": "center", "right": "left", "below": "center", "left": "right"}


class Box(NamedTuple):
    """A rectangle in pixels."""

    left: float
    top: float
    right: float
    bottom: float

    def covers(self, other: Box) -> bool:
        return (
            self.left < other.right and other.left < self.right and self.top < other.bottom and other.top < self.bottom
        )


def layer(base: alt.Chart, y: alt.Y, text: str) -> alt.Chart:
    """Return the mark of the labels that `placed` has placed."""
    right, down, align = (
        alt.ExprRef(f"{json.dumps(by_side)}[datum.side]")
        for by_side in (
            {side: offset[0] for side, offset in OFFSETS.items()},
            {side: offset[1] for side, offset in OFFSETS.items()},
            ALIGNED,
        )
    )
    with_label = base.transform_filter("datum.side")
    drawn: alt.Chart = with_label.mark_text(dx=right, dy=down, align=align, baseline="middle").encode(y=y, text=text)
    return drawn


def placed(rows: pl.DataFrame, label: str, *, log: tuple[bool, bool] = (False, False)) -> pl.DataFrame:
    """Return the rows, panel by panel, with a column `side`: where the label of each point on the front goes.

    It is empty where a label would cover another one. Panels of the size of files are assumed; in larger ones there
    is more room.

    Args:
        rows: with the columns `panel`, `cost`, `value` and `front`.
        label: the column with the labels.
        log: whether the axes of cost and value are logarithmic.
    """
    labelled = [
        panel.with_columns(pl.Series("side", _sides(panel, label, log), dtype=pl.String))
        for panel in rows.partition_by("panel", maintain_order=True)
    ]
    return pl.concat(labelled)


def _sides(panel: pl.DataFrame, label: str, log: tuple[bool, bool]) -> list[str]:
    across = _pixels(panel["cost"].to_list(), WIDTH, log[0])
    down = [HEIGHT - up for up in _pixels(panel["value"].to_list(), HEIGHT, log[1])]
    points = [Box(x - POINT, y - POINT, x + POINT, y + POINT) for x, y in zip(across, down, strict=True)]
    taken: list[Box] = []
    sides = []
    for x, y, text, is_labelled in zip(across, down, panel[label].to_list(), panel["front"].to_list(), strict=True):
        boxes = {side: _box(x, y, side, str(text)) for side in OFFSETS} if is_labelled else {}
        free = [side for side, box in boxes.items() if not any(map(box.covers, taken))]
        clear = [side for side in free if not any(map(boxes[side].covers, points))]
        side = next(iter([*clear, *free]), "")
        if side:
            taken.append(boxes[side])
        sides.append(side)
    return sides


def _pixels(values: Sequence[float], length: int, is_log: bool) -> list[float]:
    """Return positions on an axis. A linear one is taken to begin at zero, which leaves labels the least room."""
    scaled = [math.log(value) if value > 0 else 0.0 for value in values] if is_log else list(values)
    low, high = (min(scaled) if is_log else min(0.0, *scaled)), max(scaled)
    return [length * (value - low) / ((high - low) or 1.0) for value in scaled]


def _box(x: float, y: float, side: str, text: str) -> Box:
    right, down = OFFSETS[side]
    wide = PER_LETTER * len(text)
    left = x + right - {"center": wide / 2, "left": 0.0, "right": wide}[ALIGNED[side]]
    return Box(left, y + down - TALL / 2, left + wide, y + down + TALL / 2)
