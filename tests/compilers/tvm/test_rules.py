"""Each scheduling rule on small kernels, against NumPy and PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernels import AVX512, PROCESSORS, Array, check_rule, kernel, random

from pytest_ngraph.compilers.tvm import cpu
from pytest_ngraph.compilers.tvm.target import Processor


def convolution(x: Array, weights: Array, stride: int, padding: int, groups: int = 1) -> Array:
    """Return PyTorch's convolution of NHWC images with HWIO weights."""
    import torch

    image, filters = torch.from_numpy(x).permute(0, 3, 1, 2), torch.from_numpy(weights).permute(3, 2, 0, 1)
    result = torch.nn.functional.conv2d(image, filters, stride=stride, padding=padding, groups=groups)
    array: Array = result.permute(0, 2, 3, 1).numpy()
    return array


@PROCESSORS
@pytest.mark.parametrize(("size", "stride", "padding"), [(3, 1, 1), (1, 1, 0), (3, 2, 1), (7, 2, 3)])
def test_a_convolution_with_its_epilogue(host: Any, processor: Processor, size: int, stride: int, padding: int) -> None:
    from tvm import topi

    x, weights, bias = random(2, 14, 14, 8), random(size, size, 8, 32), random(32)

    def conv_bias_relu(x: Any, weights: Any, bias: Any) -> Any:
        return topi.nn.relu(topi.nn.conv2d_nhwc(x, weights, stride, padding, 1) + bias)

    expected = np.maximum(convolution(x, weights, stride, padding) + bias, 0)
    function = kernel(conv_bias_relu, x, weights, bias)
    text = check_rule(function, [x, weights, bias], expected, processor, host)
    assert 'scope="local"' in text
    assert "T.parallel" in text
    assert "T.vectorized" in text


@PROCESSORS
@pytest.mark.parametrize("stride", [1, 2])
def test_a_depthwise_convolution(host: Any, processor: Processor, stride: int) -> None:
    from tvm import topi

    x, weights = random(1, 14, 14, 48), random(5, 5, 1, 48)

    def depthwise(x: Any, weights: Any) -> Any:
        return topi.nn.group_conv2d_nhwc(x, weights, stride, 2, 1, 48)

    expected = convolution(x, weights, stride, 2, groups=48)
    text = check_rule(kernel(depthwise, x, weights), [x, weights], expected, processor, host)
    assert 'scope="local"' in text


@PROCESSORS
@pytest.mark.parametrize("shape", [(64, 64, 64), (1, 512, 1000), (49, 32, 49)])
def test_a_matrix_product(host: Any, processor: Processor, shape: tuple[int, int, int]) -> None:
    from tvm import topi

    rows, inner, columns = shape
    a, b = random(rows, inner), random(inner, columns)
    text = check_rule(kernel(topi.nn.matmul, a, b), [a, b], a @ b, processor, host)
    assert 'scope="local"' in text


@PROCESSORS
@pytest.mark.parametrize("length", [64, 197])
def test_softmax(host: Any, processor: Processor, length: int) -> None:
    from tvm import topi

    x = random(3, 40, length)
    exponentials = np.exp(x - x.max(-1, keepdims=True))
    function = kernel(topi.nn.fast_softmax, x)
    text = check_rule(function, [x], exponentials / exponentials.sum(-1, keepdims=True), processor, host)
    assert text.count("T.parallel") == 1  # one pass over the rows


@PROCESSORS
def test_layer_norm(host: Any, processor: Processor) -> None:
    from tvm import topi

    x, scale, shift = random(197, 96), random(96), random(96)
    expected = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5) * scale + shift

    def layer_norm(x: Any, scale: Any, shift: Any) -> Any:
        return topi.nn.layer_norm(x, scale, shift, axis=[1], epsilon=1e-5)

    text = check_rule(kernel(layer_norm, x, scale, shift), [x, scale, shift], expected, processor, host)
    assert text.count("T.parallel") == 1


@PROCESSORS
def test_a_mean_over_an_image(host: Any, processor: Processor) -> None:
    from tvm import topi

    x = random(2, 7, 7, 96)

    def mean(x: Any) -> Any:
        return topi.sum(x, axis=[1, 2]) * (1 / 49)

    text = check_rule(kernel(mean, x), [x], x.mean((1, 2)), processor, host)
    assert "T.vectorized" in text


@PROCESSORS
@pytest.mark.parametrize("shape", [(197, 384), (3, 5), (4096,), (1, 1)])
def test_an_activation_of_any_shape(host: Any, processor: Processor, shape: tuple[int, ...]) -> None:
    from tvm import topi

    x = random(*shape)
    check_rule(kernel(topi.nn.relu, x), [x], np.maximum(x, 0), processor, host)


@PROCESSORS
@pytest.mark.parametrize("axes", [(0, 3, 1, 2), (0, 2, 3, 1), (1, 0, 2, 3)])
def test_a_transpose(host: Any, processor: Processor, axes: tuple[int, ...]) -> None:
    from tvm import topi

    x = random(2, 17, 48, 32)

    def transpose(x: Any) -> Any:
        return topi.transpose(x, axes)

    check_rule(kernel(transpose, x), [x], x.transpose(axes), processor, host)


def test_a_kernel_that_no_rule_can_schedule_is_counted_and_still_computes(
    host: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    import tvm
    from tvm import topi

    from pytest_ngraph.compilers.tvm.cpu import elementwise

    def fail(*_: Any) -> None:
        raise RuntimeError("does not fit\nthe reason")

    monkeypatch.setattr(elementwise, "schedule", fail)
    x = random(8, 8)
    module = tvm.IRModule({"relu": kernel(topi.nn.relu, x), "product": kernel(topi.nn.matmul, x, x)})
    module, coverage = cpu.schedule(module, AVX512)
    assert str(coverage) == "1 of 2 kernels scheduled"
    assert coverage.naive == {"relu": "the reason"}
