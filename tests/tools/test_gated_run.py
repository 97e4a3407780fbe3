"""The parts of `tools/gated_run.py` that measure nothing."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import gated_run
import pytest
from gate_trials import timeline
from gate_trials.matrix import Matrix


def test_each_moment_counts_once_for_the_first_kind_that_it_has() -> None:
    spans = [("the rest", 0.0, 10.0), ("exporting", 1.0, 4.0), ("importing", 2.0, 6.0), ("bursts", 7.0, 8.0)]
    found = timeline.seconds(spans)
    assert {kind: seconds for kind, seconds in found.items() if seconds} == {
        "bursts": 1.0,
        "exporting": 3.0,
        "importing": 2.0,
        "the rest": 4.0,
    }
    assert sum(found.values()) == 10.0


def test_the_phases_of_a_request_are_told_apart() -> None:
    line = timeline.Timeline()
    line.now = lambda: 9.0  # type: ignore[method-assign]
    begun = [("compile", 1.0), ("warm-up", 5.0), ("verify", 7.0), ("measure", 8.0)]
    timeline._add(line, "prepare", 0.5, begun, {"load_s": 3.0, "cached_at": None})
    found = timeline.seconds(line.spans)
    assert (found["importing"], found["compiling"], found["warming up"], found["verifying"]) == (1.0, 3.0, 2.0, 1.0)
    line.spans.clear()
    timeline._add(line, "prepare", 0.5, begun, {"load_s": 3.0, "cached_at": 1.7e9})
    assert timeline.seconds(line.spans)["loading"] == 3.0
    timeline._add(line, "compare", 6.0, [], {"wall_s": 2.0})
    assert ("bursts", 7.0, 9.0) in line.spans


def test_the_report_has_every_kind_and_their_sum() -> None:
    seconds = dict.fromkeys(timeline.KINDS, 1.0)
    text = gated_run.report(gated_run.Profile(len(seconds), seconds, (1, 4)), "two networks")
    assert text.startswith("two networks: 5 launches of 2 cases.")
    assert text.count("1.0 s") == len(seconds)
    assert text.splitlines()[-1].split("|")[2].strip() == f"{len(seconds)}.0 s"


@pytest.mark.parametrize(("changed", "expected"), [(None, [1, 3]), (1, [1, 2])])
def test_as_many_networks_change_as_asked_for(tmp_path: Path, changed: int | None, expected: list[int]) -> None:
    matrix = Matrix(tmp_path, networks=2, compilers=["identity"], changed=changed)
    base = subprocess.run(
        ["git", "show", "HEAD~1:cells.json"], cwd=matrix.head, capture_output=True, text=True, check=True
    )
    seeds = [json.loads(text) for text in (base.stdout, (matrix.head / "cells.json").read_text())]
    assert [[cell["seed"] for cell in each.values()] for each in seeds] == [[0, 2], expected]
