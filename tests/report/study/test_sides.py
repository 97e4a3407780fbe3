"""Two runs, or two devices, side by side."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from synthetic import case, failed, noisy

from pytest_ngraph.record import Contention, Record
from pytest_ngraph.report.study.data import Study
from pytest_ngraph.report.study.figures import FIGURES
from pytest_ngraph.report.study.sides import Side, Sides
from pytest_ngraph.report.study.tables import TABLES
from pytest_ngraph.store import Run

SECONDS = {"identity": 0.02, "openvino": 0.01, "tvm": 0.015}


def records(factors: dict[str, float], device: str = "xeon", seed: int = 0, workload: str = "resnet18") -> list[Record]:
    return [
        noisy(case(name, device=device, workload=workload), SECONDS[name] * factor, seed=seed + place)
        for place, (name, factor) in enumerate(factors.items())
    ]


def runs(first: Sequence[Record], second: Sequence[Record], *, alike: bool = True) -> Sides:
    one, other = Side.of_run("early", first), Side.of_run("late", second)
    return Sides(what="run", one=one, other=other, alike=lambda device: alike)


def found(sides: Sides) -> dict[str, str]:
    return {row["compiler"]: row["change"] for row in sides.frame.rows(named=True)}


@pytest.mark.parametrize("alike", [True, False])
def test_the_same_code_is_too_close_and_another_is_surely_faster(alike: bool) -> None:
    sides = runs(
        records({"identity": 1.0, "openvino": 1.0, "tvm": 1.0}),
        records({"identity": 1.02, "openvino": 0.25, "tvm": 4.0}, seed=9),
        alike=alike,
    )
    assert found(sides) == {"openvino": "surely faster", "identity": "too close", "tvm": "surely slower"}
    fastest, *_, slowest = sides.frame.rows(named=True)
    assert fastest["ratio"] == pytest.approx(4.0, rel=0.02)
    assert slowest["ratio"] == pytest.approx(0.25, rel=0.02)
    for row in sides.frame.rows(named=True):
        assert row["ratio_low"] < row["ratio"] < row["ratio_high"]
        assert row["ratio_high"] / row["ratio_low"] > 1.1, "machines drift by more than rounds show"
    assert "at different times" in sides.note


def test_without_an_interval_the_reason_is_given() -> None:
    busy = noisy(case("openvino"), 0.01, contention=Contention(pressure_percent=90.0))
    few = noisy(case("tvm"), 0.01, rounds=1)
    sides = runs([*records({"openvino": 1.0, "tvm": 1.0})], [busy, few])
    reasons = {row["compiler"]: row["reason"] for row in sides.frame.rows(named=True)}
    assert reasons["openvino"] == "the machine was busy during this run"
    assert reasons["tvm"].startswith("too few rounds to estimate their error")
    assert set(found(sides).values()) == {"unknown"}


def test_devices_are_compared_case_by_case() -> None:
    every = [*records({"identity": 1.0, "openvino": 1.0}), *records({"identity": 3.0}, "orin"), failed(case("tvm"))]
    sides = Sides(what="device", one=Side.of_device("xeon", every), other=Side.of_device("orin", every))
    (row,) = sides.frame.rows(named=True)
    assert (row["device"], row["compiler"], row["change"]) == ("orin over xeon", "identity", "surely slower")
    assert sides.only == "Of the cases, 1 only device xeon measured."
    assert "on different machines" in sides.note


def test_the_table_and_the_figure_show_the_sides() -> None:
    later = records({"identity": 1.0, "openvino": 0.5})
    sides = runs(records({"identity": 1.0, "openvino": 1.0, "tvm": 1.0}), later)
    study = Study.of([Run(id="late", environment={}, records=tuple(later))], sides=sides)
    table = TABLES["side_by_side"](study)
    assert table.title == "Side by side: runs early and late"
    assert table.frame.columns[-3:] == ["early (s)", "late (s)", "reason"]
    assert table.frame["ratio"].is_sorted(descending=True)
    assert table.note.endswith("Of the cases, 1 only run early measured.")
    figure = FIGURES["side_by_side"](study)
    assert figure.chart is not None
    assert figure.title == table.title


def test_without_sides_the_table_says_how_to_name_them() -> None:
    assert TABLES["side_by_side"](Study()).missing == "needs two runs or two devices to compare: --compare A B"
    assert FIGURES["side_by_side"](Study()).missing == TABLES["side_by_side"](Study()).missing
    apart = runs(records({"identity": 1.0}), records({"identity": 1.0}, workload="vit"))
    assert TABLES["side_by_side"](Study(sides=apart)).missing == "needs cases that both measured"
    assert FIGURES["side_by_side"](Study(sides=apart)).missing == "needs cases that both measured"


def test_the_figure_draws_the_cases_that_differ_most() -> None:
    many = [case("openvino", workload=f"net{number}") for number in range(40)]
    first = [noisy(each, 0.01, seed=number) for number, each in enumerate(many)]
    later = [noisy(each, 0.01 * (1 + number / 10), seed=number) for number, each in enumerate(many)]
    study = Study.of([Run(id="late", environment={}, records=tuple(later))], sides=runs(first, later))
    figure = FIGURES["side_by_side"](study)
    assert figure.left_out == "Only 30 of 40 are drawn, those that differ most; the table has all."
    text = str(figure.spec({}))
    assert "net39  openvino  b1" in text
    assert "net0  openvino  b1" not in text


def test_of_a_device_the_record_counts_that_was_begun_last_in_whatever_store() -> None:
    new, old = (noisy(case(), 0.02, started_at=at) for at in (2.0, 1.0))
    assert [*Side.of_device("xeon", [new, old]).records.values()] == [new]
