"""What the notes below a block say."""

from __future__ import annotations

from dataclasses import replace

import pytest
from synthetic import case, measured, under_load

from pytest_ngraph.gate import check
from pytest_ngraph.metrics import compute
from pytest_ngraph.record import HIDDEN, STATE, Agreement, Record, Warmup
from pytest_ngraph.report.notes import notes
from pytest_ngraph.report.summary import summary

ENDED = "a worker failed while measuring: crashed with SIGSEGV"


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        ((50.0, 51.0), f"? max rate of tvm at batch size 1: from only 2 rates, then the load ended: {ENDED}"),
        ((), f"- max rate of tvm at batch size 1: {ENDED}"),
    ],
)
def test_why_a_load_ended_is_said(shown: tuple[float, ...], expected: str) -> None:
    record = under_load("tvm", 0.01, *shown)
    assert record.load is not None
    record = replace(record, load=replace(record.load, problem=ENDED))
    assert expected in list(notes([record], compute([record]), ()))


def test_a_limit_that_no_rate_kept_is_said() -> None:
    record = under_load("tvm", 0.01, 0.0, 0.0)
    assert record.load is not None
    slow = tuple(replace(rate, seconds=(0.2,) * 100) for rate in record.load.rates)
    record = replace(record, load=replace(record.load, rates=slow))
    metrics = compute([record])
    assert metrics[record.case]["max_rate"].estimate == (0, 0, 0)
    assert any("none of the rates that were measured kept the limit" in note for note in notes([record], metrics, ()))


@pytest.mark.parametrize("steady", [True, False])
def test_a_case_that_was_not_warm_is_named(*, steady: bool) -> None:
    record = measured(case("tvm", 1), 0.02, warmup=Warmup(iterations=9, elapsed_s=3.1, steady=steady))
    expected = "? warming up ended before the times were steady, of tvm at batch size 1: its first rounds may be slow"
    assert (expected in list(notes([record], compute([record]), ()))) is not steady


def said(records: list[Record], width: int = 120) -> str:
    metrics = compute(records)
    shown = summary(records, metrics, check([], metrics), width)
    return " ".join(" ".join(line.text for line in shown).split())


def test_what_the_outputs_do_not_show_is_named() -> None:
    facts = {HIDDEN: "blocks.0.gamma, blocks.1.gamma, blocks.2.gamma, gate"}
    records = [measured(case(compiler, 1), 0.02, facts=facts) for compiler in ("identity", "tvm")]
    shown = said(records)
    assert "error: blocks.0.gamma, blocks.1.gamma, blocks.2.gamma and 1 more next to 0: what they scale may" in shown
    assert "error: " not in said([measured(case("tvm", 1), 0.02)], width=80)


def test_a_state_on_which_outputs_depend_is_named() -> None:
    facts = {STATE: "keys[0], values[0], keys[1], values[1]"}
    shown = said([measured(case(compiler, 1), 0.02, facts=facts) for compiler in ("identity", "tvm")])
    assert shown.count("leave in keys[0], values[0], keys[1] and 1 more, on which the outputs depend") == 1


def test_outputs_that_could_not_be_compared_are_named() -> None:
    tied = Agreement(error=0.0, tolerance=1e-4, undecided="output[0]['boxes'], output[0]['labels']")
    shown = said([measured(case("tvm", 1), 0.02, agreement=tied)])
    assert "error: leaves out output[0]['boxes'], output[0]['labels']: all scores tie" in shown


def test_integers_that_are_others_in_lower_precision_are_counted() -> None:
    given = {"identity": 0.0, "openvino": 0.0062, "tvm": 0.004}
    records = [
        measured(case(name, 1), 0.02, agreement=Agreement(error=0.0, tolerance=5e-2, differing=share))
        for name, share in given.items()
    ]
    shown = said(records)
    assert "leaves out integers that rounding has changed, up to 0.62 % of an output's: openvino, tvm" in shown
    assert "integers" not in said(records[:1])
