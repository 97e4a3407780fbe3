"""Whether what a store holds has the types that its dataclasses declare."""

from __future__ import annotations

import dataclasses
from typing import Any, Literal, NamedTuple, cast

import pytest

from pytest_ngraph.comparison import Comparison
from pytest_ngraph.store.conformity import conforms


@pytest.mark.parametrize(
    ("inner", "expected"),
    [(None, True), (Comparison(), True), (Comparison(share=cast("Any", "half")), False), ("text", False)],
)
def test_a_class_with_a_field_of_its_own_type_is_checked_at_every_depth(inner: Any, expected: bool) -> None:
    value = Comparison(module=Comparison(module=inner))
    assert conforms(value, Comparison) is expected
    assert conforms(dataclasses.replace(value, module=None), Comparison)


class Pair(NamedTuple):
    rounds: int
    seconds: float | None


@pytest.mark.parametrize(
    ("hint", "fitting", "others"),
    [
        (dict[str, Any], [{}, {"a": None, "b": [1]}], [{1: "a"}, ["a"]]),
        (dict[str, str], [{}, {"a": "b"}], [{"a": 1}, {"a": None}]),
        (list[str], [[], ["a"]], [["a", 1], ("a",)]),
        (tuple[float, ...], [(), (1, 0.5)], [(True,), [1.0], ("1",)]),
        (
            tuple[Pair, ...],
            [(), (Pair(1, 0.5), Pair(2, None))],
            [(Pair(True, 1.0),), ((1, 0.5),), (Pair(1, cast("Any", "a")),)],
        ),
        (tuple[str, int], [("a", 1)], [("a",), (1, "a"), ("a", 1, 2)]),
        (Literal["a", "b"] | None, ["a", None], ["c", 1]),
        (float | None, [1, 1.5, None], [True, "1"]),
    ],
)
def test_containers_are_checked_by_item(hint: Any, fitting: list[Any], others: list[Any]) -> None:
    assert [value for value in fitting if not conforms(value, hint)] == []
    assert [value for value in others if conforms(value, hint)] == []
