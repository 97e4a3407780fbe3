"""The parts of `tools/explain_truth.py`: what counts as found, and what is kept for a later call."""

from __future__ import annotations

from pathlib import Path

from explain_truth import Outcome, Plant, by_compiler, keep, not_found, read

CONV = Plant("layer1.conv", "layer")
FOUND = Outcome(
    network="resnet18",
    compiler="tvm",
    plant=CONV,
    verdict="regressed",
    first="layer1.conv.added",
    named=True,
    covers=True,
    coverage=0.98,
)
ELSEWHERE = Outcome(network="deit", compiler="tvm", plant=CONV, verdict="regressed", first="layer1.convolution")
EQUAL = Outcome(network="resnet18", compiler="tvm", plant=None, verdict="unchanged", first="")


def test_a_part_of_the_changed_module_is_found_and_a_neighbour_is_not() -> None:
    table = by_compiler([FOUND, ELSEWHERE, EQUAL])
    cells = [cell.strip() for cell in table.splitlines()[-1].strip("|").split("|")]
    assert cells == ["`tvm`", "2", "2", "1 of 2", "1 of 2", "0 of 1", "49 %"]
    assert "`layer1.convolution`" in not_found([FOUND, ELSEWHERE, EQUAL])
    assert not_found([FOUND, EQUAL]) == ""


def test_a_later_call_has_what_was_kept(tmp_path: Path) -> None:
    file = tmp_path / "kept.jsonl"
    assert read(None) == read(file) == {}
    keep(file, [FOUND])
    keep(file, [EQUAL])
    assert list(read(file).values()) == [FOUND, EQUAL]
