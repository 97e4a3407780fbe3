"""The parts of `tools/bisect_trials.py` that measure nothing."""

from __future__ import annotations

from pathlib import Path

import bisect_trials
from bisect_trial.finders import ASV, FOUND, OURS, Finding, of_outcome
from bisect_trial.history import BEGIN, History, Trial

TRIAL = Trial(condition="quiet", slowdown_percent=3.0, seed=1)


def finding(finder: str, **fields: bool) -> Finding:
    known = {"named": True, "right": False, "within": False}
    return Finding(trial=TRIAL, finder=finder, steps=8, seconds=90.4, **known | fields)


def test_half_of_the_commits_touch_the_network_and_one_is_guilty(tmp_path: Path) -> None:
    history = History(tmp_path, TRIAL, 8, 40, "torchscript", 1)
    commits = history.git("rev-list", "--reverse", f"{BEGIN}..HEAD").splitlines()
    touching = history.git("rev-list", f"{BEGIN}..HEAD", "--", "cells.json").splitlines()
    assert len(commits) == 8
    assert len(touching) == 4
    assert history.guilty in touching
    before, after = (history.git("show", f"{revision}:cells.json") for revision in (f"{history.guilty}~1", "HEAD"))
    assert '"rows": 0' in before
    assert '"rows": 40' in after
    (tmp_path / "none").mkdir()
    innocent = Trial(condition="quiet", slowdown_percent=0.0, seed=1)
    assert not History(tmp_path / "none", innocent, 4, 0, "torchscript", 1).guilty


def test_trials_that_are_done_are_not_planned_again() -> None:
    asked = bisect_trials.parse(["--results=f", "--repositories=2", "--slowdowns=0,3", "--conditions=quiet"])
    trials = bisect_trials.planned(asked, [finding(OURS)], [OURS])
    assert len(trials) == 3
    assert TRIAL not in trials
    assert TRIAL in bisect_trials.planned(asked, [finding(OURS)], [OURS, ASV])


def test_a_finding_comes_back_from_the_file(tmp_path: Path) -> None:
    assert Finding.from_dict(finding(ASV).to_dict()) == finding(ASV)
    assert bisect_trials.read(tmp_path / "none") == []


def test_outcomes_are_right_a_range_or_wrong() -> None:
    def judged(**outcome: list[dict[str, object]]) -> tuple[bool, bool, bool]:
        found = of_outcome(TRIAL, "abc", {"culprits": [], "ranges": [], "steps": 8, **outcome}, 9.0)
        return found.named, found.right, found.within

    assert judged(culprits=[{"commit": "abc"}]) == (True, True, False)
    assert judged(culprits=[{"commit": "def"}]) == (True, False, False)
    assert judged(ranges=[{"commits": ["abc", "def"]}]) == (False, False, True)
    assert judged() == (False, False, False)


def test_the_table_counts_them() -> None:
    found = [finding(OURS, right=True), finding(OURS, named=False, within=True), finding(ASV)]
    table = bisect_trials.report(found, 64)
    assert "| quiet | 3 % | pytest-ngraph bisect | 2 | 1 | 1 | 0 | 8 | 90 |" in table
    assert "| quiet | 3 % | asv find | 1 | 0 | 0 | 1 | 8 | 90 |" in table


def test_what_asv_names_is_read() -> None:
    found = FOUND.search("Greatest regression found: 1a2b3c4d <main~3>")
    assert found
    assert found[1] == "1a2b3c4d"
