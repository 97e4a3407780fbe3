"""Arguments of a mark: what they become, and one message for each mistake."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_ngraph.errors import UsageError
from pytest_ngraph.plugin import mark_values


def test_shapes_are_sorted_by_input_and_one_axis_may_stand_alone() -> None:
    given = {"y": ("batch", 3, "height", 0), "x": "batch", "scalar": ()}
    assert mark_values.shapes(given) == (("scalar", ()), ("x", ("batch",)), ("y", ("batch", 3, "height", 0)))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([("x", (1, 2))], r"is not a dict of inputs and their shapes, such as \{'x': "),
        ({"x": (1, 2.0)}, r"shapes\['x'\]=\(1, 2.0\) is not a tuple of whole numbers"),
        ({"x": (True,)}, r"shapes\['x'\]=\(True,\) is not a tuple of whole numbers"),
        ({3: (1,)}, r"shapes\[3\]=\(1,\) is not a tuple of whole numbers"),
        ({"x": (1, -2)}, r"shapes\['x'\] has the axis -2. Give a whole number from 0 up"),
        ({"x": ("device", 2)}, r"size 'device': an argument of the mark has that name"),
    ],
)
def test_what_is_no_shape_is_named(given: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        mark_values.shapes(given)


def test_sizes_are_listed_once_each_in_their_order() -> None:
    assert mark_values.marked_sizes({}) == {}
    assert mark_values.marked_sizes({"sizes": {"seq_len": [128, 32, 128], "image": 224}}) == {
        "seq_len": (128, 32),
        "image": (224,),
    }


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ([32, 128], r"sizes \[32, 128\] is not a dict of axes and their sizes"),
        ({"seq_len": []}, "seq_len is empty. Give one value or several"),
        ({"seq_len": "many"}, r"size seq_len 'many'"),
        ({"seq_len": (number for number in (1, 2))}, r"generator can be read only once"),
    ],
)
def test_what_is_no_size_is_named(sizes: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        mark_values.marked_sizes({"sizes": sizes})


def test_arguments_of_a_model_are_plain_values_sorted_by_name() -> None:
    assert mark_values.model_args({"width": 2, "act": "gelu"}) == (("act", "gelu"), ("width", 2))
    said = r"model_args \{'layers': \[1, 2\]\} is not a dict of texts, numbers .*'pretrained': True"
    with pytest.raises(UsageError, match=said):
        mark_values.model_args({"layers": [1, 2]})
