"""The row of a workload: what races picked, beside a sweep."""

from __future__ import annotations

from decide_truth import HEADING, Run, axes_of, row
from synthetic import case, measured

from pytest_ngraph.advise.answer import Answer, Candidate

TRUTH = {"identity": 2.0, "openvino": 1.0, "tvm": 1.1}


def run(compiler: str, *, is_sure: bool, seconds: float) -> Run:
    pick = Candidate(record=measured(case(compiler), 1.0), held=(), speedup=None)
    close = () if is_sure else (pick,)
    return Run(Answer(pick=pick, close=close, candidates=(pick,), dropped={}), seconds)


def test_a_pick_that_is_sure_and_behind_is_wrong() -> None:
    runs = [run("openvino", is_sure=True, seconds=9.0), run("tvm", is_sure=True, seconds=11.0),
            run("tvm", is_sure=False, seconds=10.0)]  # fmt: skip
    found = dict(zip(HEADING, row("net", TRUTH, 40.0, runs), strict=True))
    assert found == {
        "workload": "net", "candidates": "3", "fastest": "openvino", "picks": "openvino, tvm", "behind": "10.0%",
        "sure": "2 of 3", "wrong": "1", "sweep": "40 s", "race": "10 s", "share": "25%",
    }  # fmt: skip


def test_without_a_pick_it_is_infinitely_behind() -> None:
    nothing = Run(Answer(pick=None, close=(), candidates=(), dropped={}), 10.0)
    assert row("net", TRUTH, 40.0, [nothing])[3:6] == ["none", "inf%", "0 of 1"]


def test_blocks_have_a_depth() -> None:
    (cell,) = axes_of("conv", ["identity"], 4).cells
    assert (cell.depth, cell.width, cell.batch_size) == (2, 64, 4)
    assert axes_of("resnet18", ["identity"], 1).cells[0].depth is None
