"""Goals by simulation: intervals keep their promise, and what is called sure is not wrong."""

from __future__ import annotations

import goal_coverage as tool
import numpy as np
import pytest

from pytest_ngraph.metrics.between import IN_GENERAL, Between

TRIALS = 40


@pytest.mark.parametrize("goal", ["best", "best, in a race", "rank"])
@pytest.mark.parametrize("between", [IN_GENERAL, tool.CALIBRATED], ids=["in general", "calibrated"])
def test_intervals_are_right_and_nothing_sure_is_wrong(goal: str, between: Between) -> None:
    random = np.random.default_rng(3)
    found = [
        tool.ended(tool.GOALS[goal], tool.GROUPS["close"], between, tool.Setting(0.5, 0.0), random)
        for _ in range(TRIALS)
    ]
    assert np.mean([hit for each in found for hit in each.covered]) >= 0.94
    assert sum(each.wrong_pick or each.wrong_order for each in found) <= 0.1 * TRIALS


def test_a_clear_group_is_sure_with_fewer_rounds() -> None:
    random = np.random.default_rng(3)
    quiet = tool.Setting(0.0, 0.0, spread=0.01)
    ours, precise = (
        [tool.ended(tool.GOALS[goal], tool.GROUPS["clear"], tool.CALIBRATED, quiet, random) for _ in range(5)]
        for goal in ("best", "precision")
    )
    assert all(each.sure for each in ours)
    assert max(each.rounds for each in ours) < min(each.rounds for each in precise)
