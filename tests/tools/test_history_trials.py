from __future__ import annotations

import history_trials
import numpy as np


def test_ratios_show_the_injected_steps_and_the_rule_invents_some() -> None:
    trial = history_trials.simulate(series=10, nights=120, seed=0)
    large = [number for number, step in enumerate(trial.steps) if step and abs(step[1]) > 0.015]
    found = history_trials.ours(trial)
    for number in large:
        step = trial.steps[number]
        assert step is not None
        assert any(abs(night - step[0]) <= history_trials.NEAR for night, _ in found[number])
    assert sum(map(len, history_trials.rule(0.05)(trial))) > 10 * sum(map(len, found))


def test_the_tables_have_a_row_for_each_method_and_size() -> None:
    table = history_trials.table(trials=1, series=10, nights=40)
    assert all(title in table for title in history_trials.methods())
    delays = history_trials.delays(trials=1, series=10, nights=30)
    assert "New steps that were none: " in delays
    assert len(delays.splitlines()) == len(history_trials.SIZES) + 4


def test_seconds_vary_more_than_ratios() -> None:
    trial = history_trials.simulate(series=10, nights=120, seed=1)
    assert np.std(np.diff(trial.seconds)) > 5 * np.std(np.diff(trial.ratios))
