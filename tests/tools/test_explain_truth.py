"""The parts of `tools/explain_truth.py`: what counts as found, and what is kept for a later call."""

from __future__ import annotations

from pathlib import Path

from explain_trials.outcomes import Outcome, Plant, keep, read
from explain_truth import by_compiler, not_found

from pytest_ngraph.stats import Estimate

CONV = Plant("layer1.conv", "layer")
FOUND = Outcome(
    network="resnet18",
    compiler="tvm",
    plant=CONV,
    verdict="regressed",
    first="layer1.conv.added",
    part_s=Estimate(0.010, 0.009, 0.011),
    parts_s=Estimate(0.010, 0.009, 0.011),
    whole_s=Estimate(0.0105, 0.008, 0.013),
    coverage=0.98,
)
ELSEWHERE = Outcome(
    network="deit",
    compiler="tvm",
    plant=CONV,
    verdict="regressed",
    first="layer1.convolution",
    part_s=Estimate(0.010, 0.009, 0.011),
    parts_s=Estimate(0.0152, 0.014, 0.0164),
    whole_s=Estimate(0.0155, 0.015, 0.016),
)
EQUAL = Outcome(network="resnet18", compiler="tvm", plant=None, verdict="unchanged", first="")
FAILED = Outcome(network="deit", compiler="tvm", plant=None, verdict="inconclusive")
"""A case that nothing was said of."""


def test_a_part_of_the_changed_module_is_found_and_a_neighbour_is_not() -> None:
    table = by_compiler([FOUND, ELSEWHERE, EQUAL, FAILED])
    cells = [cell.strip() for cell in table.splitlines()[-1].strip("|").split("|")]
    assert cells == ["`tvm`", "2", "2", "1 of 2", "1 of 2", "2 of 2", "0 of 1", "49 %"]
    assert "`layer1.convolution`" in not_found([FOUND, ELSEWHERE, EQUAL])
    assert not_found([FOUND, EQUAL]) == ""


def test_an_unchanged_case_that_could_not_be_explained_is_measured_again(tmp_path: Path) -> None:
    keep(file := tmp_path / "kept.jsonl", [EQUAL, FAILED])
    assert list(read(file).values()) == [EQUAL]


def test_a_later_call_has_what_was_kept(tmp_path: Path) -> None:
    file = tmp_path / "kept.jsonl"
    assert read(None) == read(file) == {}
    keep(file, [FOUND])
    keep(file, [EQUAL])
    assert list(read(file).values()) == [FOUND, EQUAL]
