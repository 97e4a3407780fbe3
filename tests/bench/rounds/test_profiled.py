"""Blocks of two cases run in turn, each time in the other order, for a few seconds."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from pytest_ngraph.bench.rounds.profiled import MOST_BLOCKS, run_in_turn
from pytest_ngraph.stats import FEWEST_ROUNDS


class Simulated:
    """Two cases whose blocks take this long, on a clock that only they advance."""

    def __init__(self, seconds: float) -> None:
        self.ran: list[str] = []
        self.now = 0.0
        self._seconds = seconds

    def arm(self, name: str) -> Any:
        def run_block() -> None:
            self.ran.append(name)
            self.now += self._seconds

        return SimpleNamespace(run_block=run_block)

    def run(self) -> list[str]:
        run_in_turn([self.arm("first"), self.arm("second")], clock=lambda: self.now)
        return self.ran


def test_the_order_changes_with_every_block() -> None:
    assert Simulated(0.0).run()[:6] == ["first", "second", "second", "first", "first", "second"]


@pytest.mark.parametrize(("seconds", "number"), [(0.1, MOST_BLOCKS), (0.25, 9), (60.0, FEWEST_ROUNDS)])
def test_slow_models_get_fewer_blocks_but_enough_for_an_interval(seconds: float, number: int) -> None:
    assert Simulated(seconds).run().count("first") == number
