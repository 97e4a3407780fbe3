"""One layer by itself, as a workload: `pytest-ngraph explain --probe` measures some at several widths."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

NAME = f"{__name__}:layer"
"""The workload."""


def layer(
    kind: str, sizes: str, on: str, options: str, bias: bool, batch_size: int
) -> tuple[torch.nn.Module, torch.Tensor]:
    """Return a layer with random weights, and a random input.

    Args:
        kind: `conv2d` or another convolution, or `linear`.
        sizes: its outputs, inputs and groups, and the extents of a convolution's kernel: `66x66x1x3x3`.
        on: the shape of the input, with all of its axes.
        options: stride, padding and dilation of a convolution, as text: `[2, 2], [1, 1]`.
        bias: whether it has one.
        batch_size: stands in `on` already.
    """
    import torch
    from torch import nn

    del batch_size
    outputs, inputs, groups, *kernel = map(int, sizes.split("x"))
    on_input = torch.randn(*map(int, on.split("x")))
    if kind == "linear":
        return nn.Linear(inputs, outputs, bias), on_input
    convolution: Any = {"conv1d": nn.Conv1d, "conv2d": nn.Conv2d, "conv3d": nn.Conv3d}[kind]
    given = dict(zip(("stride", "padding", "dilation"), _options(options), strict=False))
    return convolution(inputs, outputs, kernel, groups=groups, bias=bias, **given), on_input


def _options(text: str) -> list[Any]:
    parts = re.findall(r"\[[^]]*\]|\w+", text)
    return [part if part.isalpha() else ast.literal_eval(part) for part in parts]
