"""Models that some or all compilers cannot compile."""

from __future__ import annotations

import torch


@torch.library.custom_op("ngraph_test::twice", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    return x * 2


@twice.register_fake
def _(x: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(x)


class Twice(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = twice(self.linear(x))
        return result


class Branching(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + 1 if x.sum().item() > 0 else x - 1


def build(batch_size: int) -> tuple[torch.nn.Module, torch.Tensor]:
    """Return a model with an operator that only this module registers."""
    return Twice(), torch.ones(batch_size, 4)


def branching(batch_size: int) -> tuple[torch.nn.Module, torch.Tensor]:
    """Return a model whose control flow depends on its input, which `torch.export` refuses."""
    return Branching(), torch.ones(batch_size, 4)
