"""Padded operands and packed weights."""

from __future__ import annotations

from typing import Any

import numpy as np
from kernels import AVX512, PROCESSORS, check_rule, kernel, random

from pytest_ngraph.compilers.tvm import packing
from pytest_ngraph.compilers.tvm.target import Processor


def test_packed_weights_hold_the_columns_of_a_tile_together() -> None:
    weights = random(3, 3, 8, 64)
    packed = packing.pack(weights, 32)
    assert packed.shape == (2, 3, 3, 8, 32)
    assert packed.flags.c_contiguous
    np.testing.assert_array_equal(packed[1], weights[..., 32:])


@PROCESSORS
def test_a_product_of_awkward_length_with_constant_weights(host: Any, processor: Processor) -> None:
    from tvm import topi

    a, weights, bias = random(197, 64), random(64, 96), random(96)

    def linear(a: Any, weights: Any, bias: Any) -> Any:
        return topi.nn.matmul(a, weights) + bias

    packed = packing.pack_kernel(kernel(linear, a, weights, bias), {1, 2}, processor)
    assert packed is not None
    assert packed.weights == 1
    inputs = [a, packing.pack(weights, packed.columns), bias]
    text = check_rule(packed.function, inputs, a @ weights + bias, processor, host)
    assert 'scope="local"' in text


@PROCESSORS
def test_a_product_of_two_activations_is_padded_on_both_sides(host: Any, processor: Processor) -> None:
    from tvm import topi

    a, b = random(3, 197, 16), random(3, 16, 197)

    def product(a: Any, b: Any) -> Any:
        return topi.nn.batch_matmul(a, b, transpose_b=False)

    packed = packing.pack_kernel(kernel(product, a, b), set(), processor)
    assert packed is not None
    assert packed.weights is None
    check_rule(packed.function, [a, b], a @ b, processor, host)


def test_a_kernel_without_a_contraction_stays_as_it_is(host: Any) -> None:
    from tvm import topi

    assert packing.pack_kernel(kernel(topi.nn.relu, random(8, 8)), {0}, AVX512) is None
