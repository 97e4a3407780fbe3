"""Modules that take a gradient in `forward`, as models of molecules do for forces."""

from __future__ import annotations

import torch
from torch import nn


class Forces(nn.Module):
    """Leaves the gradient mode as it is: whoever calls it has gradients on, unless they are switched off."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 1)

    def forward(self, positions: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        positions.requires_grad_(True)
        energy = self.linear(positions).pow(2).sum()
        return energy, -torch.autograd.grad(energy, positions)[0]


class ForcesInAnyMode(Forces):
    def forward(self, positions: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        with torch.enable_grad():
            return super().forward(positions.detach())


def forces(batch_size: int) -> tuple[nn.Module, torch.Tensor]:
    return Forces(), torch.ones(batch_size, 3)


def forces_in_any_mode(batch_size: int) -> tuple[nn.Module, torch.Tensor]:
    return ForcesInAnyMode(), torch.ones(batch_size, 3)
