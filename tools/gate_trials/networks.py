"""The networks of the test repository, which take 1 to 3 ms per iteration on two cores.

`cells.json` beside this file defines a revision. It has, for each cell, the seed of its weights and the number of
excess rows on which an additional product is computed.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import torch
from torch import nn

EXCESS_INPUTS, EXCESS_OUTPUTS = 64, 1280
FEWEST_ROWS = 32
"""Rows of the product in every revision, so that a slowdown comes from its size alone: the call of a product already
takes 2 % of these networks' time."""


def convolutions(cell: int) -> tuple[nn.Module, torch.Tensor]:
    """Return six 3x3 convolutions of 64 channels, and an image of 28 x 28 pixels."""
    image = torch.randn(1, 64, 28, 28, generator=torch.Generator().manual_seed(0))
    return _revised(cell, lambda: nn.Sequential(*(_Convolution(64) for _ in range(6)))), image


def attention(cell: int) -> tuple[nn.Module, torch.Tensor]:
    """Return two layers of a transformer with 4 heads, and 128 tokens of 192 values."""
    tokens = torch.randn(1, 128, 192, generator=torch.Generator().manual_seed(0))
    return _revised(cell, lambda: nn.Sequential(*(_Layer(192, heads=4) for _ in range(2)))), tokens


class _Convolution(nn.Sequential):
    def __init__(self, channels: int) -> None:
        super().__init__(nn.Conv2d(channels, channels, 3, padding=1), nn.ReLU())


class _Layer(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.project = nn.Linear(width, 3 * width)
        self.merge = nn.Linear(width, width)
        self.feed = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        split = (
            part.unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for part in self.project(self.norms[0](tokens)).chunk(3, -1)
        )
        attended = nn.functional.scaled_dot_product_attention(*split)
        tokens = tokens + self.merge(attended.transpose(1, 2).flatten(-2))
        result: torch.Tensor = tokens + self.feed(self.norms[1](tokens))
        return result


class _Slowed(nn.Module):
    """A network with an additional product of rows of its input and a matrix.

    The product is an output of its own, so that no compiler can leave it out or compute it in advance.
    """

    def __init__(self, network: nn.Module, rows: int) -> None:
        super().__init__()
        self.network = network
        self.excess = nn.Parameter(torch.randn(EXCESS_INPUTS, EXCESS_OUTPUTS))
        self.rows = rows

    def forward(self, values: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return self.network(values), values.reshape(-1, EXCESS_INPUTS)[: self.rows] @ self.excess


def _revised(cell: int, make: Callable[[], nn.Module]) -> nn.Module:
    """Return the network of this revision."""
    revision = json.loads(Path(__file__).with_name("cells.json").read_text())[str(cell)]
    torch.manual_seed(revision["seed"])
    return _Slowed(make(), FEWEST_ROWS + revision["rows"])
