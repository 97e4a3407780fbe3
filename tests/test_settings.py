"""The settings of measuring, as numbers."""

from __future__ import annotations

import pytest

from pytest_ngraph.settings import Settings


@pytest.mark.parametrize(
    ("settings", "aim_s"),
    [
        (Settings(), 0.05),
        (Settings(budget_s=0.6), 0.05),
        (Settings(budget_s=0.06), 0.005),
        (Settings(budget_s=0.06, min_rounds=6), 0.01),
        (Settings(budget_s=0), 0),
    ],
)
def test_the_fewest_rounds_take_no_longer_than_the_budget(settings: Settings, aim_s: float) -> None:
    assert settings.aim_s == pytest.approx(aim_s)


def test_only_a_goal_of_its_own_changes_what_a_record_depends_on() -> None:
    """Records of versions that had no goals stand as those of the default."""
    assert "goal" not in Settings().relevant_to()
    assert Settings(goal="best").relevant_to()["goal"] == "best"
    assert Settings(goal="rank").relevant_to() != Settings(goal="best").relevant_to()
