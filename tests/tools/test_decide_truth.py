"""The row of a workload, and what is kept: what races picked, beside a sweep."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import decide_truth
import pytest
from decide_trials.kept import Kept
from decide_truth import HEADING, Run, Sweep, Trial, Watch, axes_of, finalists, mean, row, summary

TRUTH = {"openvino": 1.0, "tvm": 1.1}
SWEEP = Sweep({"identity": 2.0, "openvino": 1.0, "tvm": 1.1}, 40.0)
RUNS = [Run("openvino", True, 9.0), Run("tvm", True, 11.0), Run("tvm", False, 10.0)]


def test_a_pick_that_is_sure_and_behind_is_wrong() -> None:
    found = dict(zip(HEADING, row(Trial("net", SWEEP, TRUTH, RUNS)), strict=True))
    assert found == {
        "workload": "net", "candidates": "3", "fastest": "openvino", "picks": "openvino, tvm", "behind": "10.0%",
        "sure": "2 of 3", "wrong": "1", "sweep": "40 s", "race": "10 s", "share": "25%", "CPU": "",
    }  # fmt: skip


def test_the_truth_is_the_mean_of_what_all_finals_measured() -> None:
    assert mean([Sweep({"identity": 2.0, "tvm": 1.0}, 40.0), Sweep({"identity": 8.0}, 90.0)]) == {"identity": 4.0}


def test_the_finals_have_what_was_picked_and_what_is_nearly_the_fastest() -> None:
    sweeps = [
        Sweep({"a": 1.0, "b": 1.2, "c": 1.2, "d": 1.5}, 40.0),
        Sweep({"a": 1.2, "b": 1.0, "c": 1.2, "d": 1.5}, 40.0),
    ]
    assert finalists(sweeps, [Run("d", False, 9.0), Run(None, False, 9.0)]) == ["a", "b", "d"]


def test_without_a_pick_or_with_one_that_the_finals_lack_it_is_infinitely_behind() -> None:
    for pick, name in ((None, "none"), ("executorch", "executorch")):
        assert row(Trial("net", SWEEP, TRUTH, [Run(pick, False, 10.0)]))[3:6] == [name, "inf%", "0 of 1"]


def test_the_share_of_the_processors_seconds_is_apart() -> None:
    found = row(Trial("net", SWEEP._replace(cpu_s=60.0), TRUTH, [run._replace(cpu_s=12.0) for run in RUNS]))
    assert found[-2:] == ["25%", "20%"]


def test_what_took_time_in_child_processes_counts() -> None:
    watch = Watch()
    subprocess.run([sys.executable, "-c", "sum(range(10**8))"], check=True)
    seconds, cpu_s = watch.took()
    assert seconds > 0
    assert cpu_s > 0


def test_a_workload_that_is_not_measured_yet_leaves_the_others_in_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(decide_truth, "swept", lambda axes, names=None: SWEEP)
    monkeypatch.setattr(decide_truth, "raced", lambda axes, budget_s, is_busy: RUNS[0])
    options = [f"--kept={tmp_path / 'kept.jsonl'}", "--compiler=identity,openvino"]

    def shown(*words: str) -> str:
        monkeypatch.setattr(sys, "argv", ["decide_truth.py", *words, *options])
        decide_truth.main()
        return capsys.readouterr().out

    assert "No race yet." in shown("mha", "--parts=2"), "the cache is filled, and the sweep is measured"
    assert "Within 2% of the fastest: 3 of 3 races." in shown("mha")
    table = shown("conv", "mha", "--parts=0")
    assert "mha" in table
    assert "conv" not in table


def test_the_summary_is_of_all_races() -> None:
    assert list(summary([Trial("net", SWEEP, TRUTH, RUNS), Trial("other", SWEEP, TRUTH, RUNS[:1])])) == [
        "Within 2% of the fastest: 2 of 4 races.",
        "Sure and not within it: 1.",
        "The races took 24% of the time of as many sweeps.",
    ]
    assert list(summary([])) == ["No race yet."]


def test_what_is_kept_is_not_made_again_and_a_line_that_was_cut_off_is(tmp_path: Path) -> None:
    made: list[str] = []

    def make() -> Run:
        made.append("one")
        return RUNS[0]

    file = tmp_path / "kept.jsonl"
    first = Kept(file, parts=2)
    assert [first.get(make, "race", number) for number in range(3)] == [list(RUNS[0]), list(RUNS[0]), None]
    file.write_text(file.read_text() + '{"name": "race 2", "resu')
    again = Kept(file)
    assert [Run(*(again.get(make, "race", number) or ())) for number in range(3)] == [RUNS[0]] * 3
    assert len(made) == 3
    assert len(file.read_text().splitlines()) == 3


def test_blocks_have_a_depth() -> None:
    cells = axes_of("conv", ["identity"], (4, 1)).cells
    assert [(cell.depth, cell.width, cell.batch_size) for cell in cells] == [(2, 64, 4), (2, 64, 1)]
    assert axes_of("resnet18", ["identity"], (1,)).cells[0].depth is None
