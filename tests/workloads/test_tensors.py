from __future__ import annotations

import numpy as np
import pytest
import torch

from pytest_ngraph.case import PRECISIONS, Precision
from pytest_ngraph.workloads.tensors import cast, dtype, flatten


@pytest.mark.parametrize("precision", PRECISIONS)
def test_floats_are_cast_and_integers_are_not(precision: Precision) -> None:
    assert cast(torch.ones(2), precision).dtype is dtype(precision)
    assert cast(torch.ones(2, dtype=torch.int64), precision).dtype is torch.int64


def test_nested_outputs_are_flattened_in_order_as_fp32() -> None:
    outputs = {"first": (torch.ones(2, dtype=torch.bfloat16), None), "second": [torch.arange(3)]}
    first, second = flatten(outputs)
    assert first.dtype == np.float32
    assert first.tolist() == [1, 1]
    assert second.dtype == np.int64
    assert second.tolist() == [0, 1, 2]


def test_a_transposed_output_becomes_contiguous() -> None:
    (array,) = flatten(torch.arange(6.0).reshape(2, 3).T)
    assert array.flags.c_contiguous
    assert array.tolist() == [[0, 3], [1, 4], [2, 5]]
