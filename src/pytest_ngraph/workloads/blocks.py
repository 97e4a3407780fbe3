"""Stacks of equal blocks, `conv` and `mha`, whose depth and width vary one at a time (study, section V-A3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ngraph.errors import UsageError
from pytest_ngraph.workloads import Built
from pytest_ngraph.workloads.export import export_module
from pytest_ngraph.workloads.seeding import normal, seeded
from pytest_ngraph.workloads.weights import draw_constants

if TYPE_CHECKING:
    from pathlib import Path

    import torch

    from pytest_ngraph.artifact import Artifact
    from pytest_ngraph.case import Case

DEPTH = 1
WIDTHS = {"conv": 64, "mha": 128}
"""The width of a block when none is given: the narrowest of Table V."""
HEADS = 8
SEQUENCE_LENGTH = 10
IMAGE_SIZE = 244


class Blocks:
    """`conv` and `mha`. Depth is 1 and width the narrowest of the study (64, 128) unless they are given.

    `mha` takes the model argument `heads` (8).
    """

    priority = 10

    def owns(self, name: str) -> bool:
        return name in WIDTHS

    def check(self, case: Case) -> None:
        depth, width = _size(case)
        if depth < 1:
            raise UsageError(f"depth={depth} of {case.workload}: give the number of stacked blocks, 1 or more.")
        if width < 1:
            raise UsageError(f"width={width} of {case.workload}: give {_WIDTH_MEANING[case.workload]}, 1 or more.")
        known = ("heads",) if case.workload == "mha" else ()
        for name, _ in case.model_args:
            if name not in known:
                hint = "" if known else f"{case.workload} takes only depth and width. Leave it out."
                raise UsageError.unknown(f"model argument of {case.workload}", name, known, hint)
        if case.workload == "mha":
            _check_heads(width, dict(case.model_args).get("heads", HEADS))

    def build(self, case: Case) -> Built:
        self.check(case)
        depth, width = _size(case)
        with seeded():
            if case.workload == "conv":
                module = _stack_conv(depth, width)
                inputs = normal(case.batch_size, 3, IMAGE_SIZE, IMAGE_SIZE)
            else:
                module = _stack_mha(depth, width, int(dict(case.model_args).get("heads", HEADS)))
                inputs = normal(case.batch_size, SEQUENCE_LENGTH, width)
            draw_constants(module)
        return Built(module.eval(), (inputs,))

    def export(self, case: Case, folder: Path) -> Artifact:
        return export_module(case, self.build(case), folder)


_WIDTH_MEANING = {"conv": "the number of channels", "mha": "the embedding dimensions"}


def _size(case: Case) -> tuple[int, int]:
    depth = DEPTH if case.depth is None else case.depth
    width = WIDTHS[case.workload] if case.width is None else case.width
    return depth, width


def _check_heads(width: int, heads: object) -> None:
    if not isinstance(heads, int) or isinstance(heads, bool) or heads < 1:
        raise UsageError(f"heads={heads} of mha: give the number of attention heads, 1 or more.")
    if width % heads:
        below = width // heads * heads
        nearest = " or ".join(str(w) for w in (below, below + heads) if w)
        divisors = ", ".join(str(d) for d in range(1, min(width, 64) + 1) if width % d == 0)
        raise UsageError(
            f"width={width} of mha is not divisible by its {heads} heads. "
            f"Allowed: a multiple of {heads} (nearest: {nearest}), or model argument heads={divisors}."
        )


def _stack_conv(depth: int, width: int) -> torch.nn.Module:
    """Return (b, 3, h, w) to (b, width, h, w): a stem, then `depth` times convolution, BatchNorm, ReLU."""
    from torch import nn

    stem = nn.Conv2d(3, width, kernel_size=3, padding=1)
    blocks = (
        nn.Sequential(nn.Conv2d(width, width, kernel_size=3, padding=1), nn.BatchNorm2d(width), nn.ReLU())
        for _ in range(depth)
    )
    return nn.Sequential(stem, *blocks)


def _stack_mha(depth: int, width: int, heads: int) -> torch.nn.Module:
    """Return (b, sequence, width) to the same: `depth` times attention, add, LayerNorm without parameters, ReLU."""
    import torch
    from torch import nn

    class AttentionBlock(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.attention = nn.MultiheadAttention(width, heads, batch_first=True)
            self.norm = nn.LayerNorm(width, elementwise_affine=False)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            attended, _ = self.attention(x, x, x, need_weights=False)
            return torch.relu(self.norm(x + attended))

    return nn.Sequential(*(AttentionBlock() for _ in range(depth)))
