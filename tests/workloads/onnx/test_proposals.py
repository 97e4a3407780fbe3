"""The line that a message proposes for open axes settles them."""

from __future__ import annotations

import pytest

from pytest_ngraph.workloads.onnx.proposals import Axis, line

BATCH, OPEN = Axis("batch", 2), Axis("", None)


@pytest.mark.parametrize(
    ("inputs", "said"),
    [
        (
            {"mask": [BATCH, Axis("past + 1", None), OPEN], "past": [BATCH, Axis("past", None)]},
            'sizes={"past": 128}, shapes={"mask": ("batch", 129, 128)}',
        ),
        (
            {"mask": [BATCH, Axis("past + 1", None), Axis("past", None), OPEN]},
            'sizes={"past": 224}, shapes={"mask": ("batch", 225, 224, 224)}',
        ),
        ({"mask": [BATCH, Axis("known + 1", None), OPEN]}, 'shapes={"mask": ("batch", 5, 128)}'),
        ({"mask": [BATCH, Axis("past/2", None)]}, 'shapes={"mask": ("batch", 128)}'),
        (
            {"mask": [Axis("", 2), Axis("past + 1", None), OPEN], "state": [Axis("", 2), OPEN, Axis("", 8)]},
            'sizes={"past": 128}, shapes={"mask": (2, 129, 128), "state": (2, "batch", 8)}',
        ),
    ],
)
def test_a_formula_beside_an_unnamed_axis_has_the_size_that_it_comes_to(
    inputs: dict[str, list[Axis]], said: str
) -> None:
    batched = {name: 0 for name, axes in inputs.items() if axes[0] == BATCH}
    assert line(inputs, {"known": 4, "batch": 2}, batched, str) == said


def test_what_no_argument_can_set_is_a_number_of_the_shape() -> None:
    inputs = {"x": [BATCH, Axis("device", None), Axis("2*device", None)]}
    assert line(inputs, {"batch": 2}, {"x": 0}, lambda name: "") == 'shapes={"x": ("batch", 128, 256)}'
