"""What `tools/baseline_margins.py` simulates and replays, in small."""

from __future__ import annotations

import math
from pathlib import Path
from statistics import median

import baseline_margins
import numpy as np
from baseline_trials import replay, simulation
from baseline_trials.tally import ALONE, RATIO, TIME, Tally
from synthetic import case, measured

from pytest_ngraph.gate.pooling import Pooled
from pytest_ngraph.machine.machine import environment
from pytest_ngraph.store import Journal

COMPILERS = ("identity", "onnxruntime", "openvino", "tvm")


def test_twenty_cases_of_two_runs_find_far_more_together_than_each_by_itself() -> None:
    found = simulation.tallies(20, 2, 0.01, math.inf, 10)
    alone, in_time, over = (float(found[way].short.split()[0]) for way in (ALONE, TIME, RATIO))
    assert over < in_time < 0.6 * alone


def test_a_case_alone_is_what_it_was() -> None:
    found = simulation.tallies(1, 3, 0.03, math.inf, 20)
    assert found[ALONE].short == found[TIME].short


def test_neither_alarms_nor_misses_of_the_truth_are_more_than_the_levels_say() -> None:
    for unequal in (math.inf, 4.0):
        tally = simulation.tallies(20, 3, 0.03, unequal, 60)[RATIO]
        _, alarms, covered, *_ = tally.cells
        assert int(alarms.split()[0]) <= 3
        assert int(covered.split()[0]) >= 84


def test_a_tally_counts_runs_and_cases() -> None:
    tally = Tally()
    tally.add([Pooled(0.3, 0.02, 20, 1), Pooled(0.0, 0.02, 20, 1)])
    tally.add([Pooled(0.0, 0.02, 20, 1)] * 2)
    detectable, alarms, covered, unchanged, five, ten, twenty = tally.cells
    assert (alarms, covered, unchanged) == ("1 of 2", "75 %", "75 %")
    assert (five, ten, twenty) == ("25 %", "100 %", "100 %")
    assert 9 < float(detectable.split()[0]) < 12


def stored(folder: Path, runs: int, groups: int) -> None:
    """Write a store with runs of groups of four cases, whose times differ by the machine's speed, and a little more."""
    random = np.random.default_rng(0)
    for _ in range(runs):
        journal = Journal(folder, environment())
        speed = random.normal(0, 0.05)
        for group in range(groups):
            for compiler in COMPILERS:
                seconds = float(np.exp(speed + random.normal(0, 0.003)))
                own = case(compiler, workload=f"net{group}")
                journal.append(measured(own, seconds, follows_from={"graph": f"{group}"}))


def test_stored_runs_are_replayed(tmp_path: Path) -> None:
    stored(tmp_path, 5, 5)
    runs = replay.read(tmp_path)
    found = replay.tallies(runs, 20, 3)
    assert [len(found[way].cells) for way in (ALONE, TIME, RATIO)] == [7] * 3
    assert all(found[way].cells[1] == "0 of 2" for way in (ALONE, TIME, RATIO))
    shown = [float(found[way].cells[0].split()[0]) for way in (ALONE, TIME, RATIO)]
    assert shown == sorted(shown, reverse=True)
    assert shown[2] < 0.5 * median(shown)
    table = baseline_margins.replayed(tmp_path, [1, 20, 60])
    assert table.count("\n") == 2 * 3 * 3 + 1
    assert "20 cases, 3 kept: all cases together, over identity" in table
