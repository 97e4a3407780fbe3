"""What is asked of a case, and what a record of an earlier session lacks of it."""

from __future__ import annotations

import dataclasses

import pytest
from launched import costs
from synthetic import case, failed, measured, skipped, unchanged

from pytest_ngraph.bench.asked import NOTHING, Asked, lacking

CASE = case("openvino")
MEASURED = measured(CASE, 0.01)


@pytest.mark.parametrize(
    ("asked", "missing"),
    [
        (Asked(served={CASE}), "what serving costs was not measured"),
        (Asked(compile_s={CASE}), "its seconds to compile are not known"),
        (Asked(profiled={CASE}), "its time was not profiled"),
        (Asked(served={case("tvm")}, compile_s={case("tvm")}), ""),
        (Asked(alone={CASE}, tails={CASE}, figures={CASE}), ""),
        (NOTHING, ""),
    ],
)
def test_what_a_measured_case_lacks_is_named(asked: Asked, missing: str) -> None:
    assert list(lacking(MEASURED, CASE, asked)) == ([missing] if missing else [])


def test_what_a_record_has_it_does_not_lack() -> None:
    whole = dataclasses.replace(MEASURED, serving=costs(), compile_s=1.0)
    assert list(lacking(whole, CASE, Asked(served={CASE}, compile_s={CASE}))) == []


def test_a_score_by_another_function_is_none() -> None:
    scored = dataclasses.replace(MEASURED, case=dataclasses.replace(CASE, scored_by="scores:top1"), score=0.5)
    assert list(lacking(scored, scored.case, NOTHING)) == []
    other = dataclasses.replace(CASE, scored_by="scores:top5")
    assert list(lacking(scored, other, NOTHING)) == ["scores:top5 has not scored it"]


def test_an_unchanged_case_lacks_its_figures_where_they_are_read() -> None:
    assert list(lacking(unchanged(CASE), CASE, Asked(figures={CASE}))) == [
        "it equals its base's, and its figures are needed now"
    ]


def test_what_was_not_measured_lacks_nothing() -> None:
    everything = Asked(alone={CASE}, calls={CASE}, tails={CASE}, served={CASE}, profiled={CASE}, compile_s={CASE})
    for record in (failed(CASE), skipped(CASE, "it cannot run here")):
        assert list(lacking(record, CASE, everything)) == []


def test_what_is_asked_of_a_case_is_one_answer_for_each_kind() -> None:
    assert NOTHING.of(CASE) == (False,) * len(dataclasses.fields(Asked))
    for place, field in enumerate(dataclasses.fields(Asked)):
        asked = Asked(**{field.name: {CASE}})
        assert [index for index, given in enumerate(asked.of(CASE)) if given] == [place]
