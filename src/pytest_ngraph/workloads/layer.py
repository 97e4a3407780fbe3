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
        kind: `conv2d`, `conv_transpose2d` or another convolution, or `linear`.
        sizes: its outputs, inputs and groups, and the extents of a convolution's kernel: `66x66x1x3x3`.
        on: the shape of the input, with all of its axes.
        options: further arguments of a convolution, as text: `stride=[2, 2], padding=same`.
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
    name = kind.replace("conv", "Conv").replace("_transpose", "Transpose")
    convolution: Any = getattr(nn, name)
    given = {name: _value(text) for name, text in re.findall(r"(\w+)=(\[[^]]*\]|\w+)", options)}
    return convolution(inputs, outputs, kernel, groups=groups, bias=bias, **given), on_input


def _value(text: str) -> Any:
    return text if text.isalpha() else ast.literal_eval(text)
