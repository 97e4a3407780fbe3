"""Modules that `torch.compile` compiles again and again, because a Python number changes in each call."""

from __future__ import annotations

import torch


class Counting(torch.nn.Module):
    """Counts its calls in a Python number, which its graph has as a constant."""

    def __init__(self) -> None:
        super().__init__()
        self.steps = 0
        self.linear = torch.nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.steps += 1
        y: torch.Tensor = self.linear(x)
        return y if x.sum() > 0 else -y


class PartlyCounting(torch.nn.Module):
    """Counts in one of its parts, which a graph break divides from the rest."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = torch.nn.Linear(4, 4), Counting()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = self.first(x)
        torch._dynamo.graph_break()
        result: torch.Tensor = self.second(y)
        return result


def counting(batch_size: int) -> tuple[torch.nn.Module, torch.Tensor]:
    """Return a module that is compiled again in each call."""
    return Counting(), torch.ones(batch_size, 4)
