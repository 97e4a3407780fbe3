"""Networks whose weights have three, four and five dimensions."""

from __future__ import annotations

import torch
from torch import nn


class Frames(nn.Module):
    """Convolves a video in time, and then a frame."""

    def __init__(self) -> None:
        super().__init__()
        self.video, self.frame = nn.Conv3d(3, 4, 3), nn.Conv2d(4, 8, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = self.frame(self.video(x).mean(2))
        return result


def frames() -> tuple[nn.Module, torch.Tensor]:
    """Return a network with weights of four and of five dimensions."""
    return Frames(), torch.rand(1, 3, 4, 8, 8)


def video() -> tuple[nn.Module, torch.Tensor]:
    """Return a network of which no weight has four dimensions."""
    return nn.Conv3d(3, 4, 3), torch.rand(1, 3, 4, 8, 8)
