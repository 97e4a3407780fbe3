"""The networks of the test repository, 1 to 3 ms an iteration on two cores. `cells.json` beside this file says what a
revision makes of each cell: the seed of its weights, and how many more rows a product of its own is computed on."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import torch
from torch import nn

EXCESS_INPUTS, EXCESS_OUTPUTS = 64, 1280
FEWEST_ROWS = 32
"""In every revision, so that what grows is the product alone: to call one at all takes 2 % of these networks' time."""


def convolutions(cell: int) -> tuple[nn.Module, torch.Tensor]:
    """Six 3x3 convolutions of 64 channels on 28 x 28 pixels."""
    image = torch.randn(1, 64, 28, 28, generator=torch.Generator().manual_seed(0))
    return _revised(cell, lambda: nn.Sequential(*(_Convolution(64) for _ in range(6)))), image


def attention(cell: int) -> tuple[nn.Module, torch.Tensor]:
    """Two layers of a transformer: 128 tokens of 192 values, 4 heads."""
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
    """A network and, on rows of the same input, a product with a matrix, whose result is an output of its own: no
    compiler can leave it out or compute it beforehand."""

    def __init__(self, network: nn.Module, rows: int) -> None:
        super().__init__()
        self.network = network
        self.excess = nn.Parameter(torch.randn(EXCESS_INPUTS, EXCESS_OUTPUTS))
        self.rows = rows

    def forward(self, values: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return self.network(values), values.reshape(-1, EXCESS_INPUTS)[: self.rows] @ self.excess


def _revised(cell: int, make: Callable[[], nn.Module]) -> nn.Module:
    """The network as this revision has it."""
    revision = json.loads(Path(__file__).with_name("cells.json").read_text())[str(cell)]
    torch.manual_seed(revision["seed"])
    return _Slowed(make(), FEWEST_ROWS + revision["rows"])
