"""Labels at points cover no other label."""

from __future__ import annotations

from itertools import combinations

import polars as pl

from pytest_ngraph.report.study.figures.labels import _box, _pixels, placed
from pytest_ngraph.report.study.figures.panels import HEIGHT, WIDTH


def front(points: list[tuple[float, float]]) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "panel": ["a"] * len(points),
            "cost": [cost for cost, _ in points],
            "value": [value for _, value in points],
            "front": [True] * len(points),
            "batch_size": [2**place for place in range(len(points))],
        }
    )


def test_labels_far_apart_are_above_their_points() -> None:
    assert placed(front([(1.0, 1.0), (5.0, 5.0), (10.0, 10.0)]), "batch_size")["side"].to_list() == ["above"] * 3


def test_labels_close_together_move_aside_or_are_left_out() -> None:
    rows = placed(front([(100 + number / 10, 100 + number / 5) for number in range(8)]), "batch_size")
    sides = rows["side"].to_list()
    across, down = _pixels(rows["cost"].to_list(), WIDTH, False), _pixels(rows["value"].to_list(), HEIGHT, False)
    boxes = [
        _box(x, HEIGHT - y, side, str(text))
        for x, y, side, text in zip(across, down, sides, rows["batch_size"].to_list(), strict=True)
        if side
    ]
    assert 1 < len(boxes) < len(sides)
    assert not any(one.covers(other) for one, other in combinations(boxes, 2))


def test_only_points_on_the_front_have_labels() -> None:
    rows = front([(1.0, 1.0), (5.0, 0.5)]).with_columns(front=pl.Series([True, False]))
    assert placed(rows, "batch_size")["side"].to_list() == ["above", ""]
