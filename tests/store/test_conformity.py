"""Whether what a store holds has the types that its dataclasses declare."""

from __future__ import annotations

import dataclasses
from typing import Any, cast

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
