"""Networks whose weights have three, four and five dimensions, and inputs in other memory layouts."""

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


class Pixels(nn.Module):
    """Joins the pixels of an image to one row, pixel by pixel."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(channels, 4, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        pixels = x.relu().permute(0, 2, 3, 1).contiguous().view(len(x), -1)
        found: torch.Tensor = self.convolution(x)
        return torch.cat([pixels, found.permute(0, 2, 3, 1).contiguous().view(len(x), -1)], 1)


def channels_last(channels: int = 3) -> tuple[nn.Module, torch.Tensor]:
    """Return images whose channels lie together; with one channel, PyTorch calls them contiguous all the same."""
    return Pixels(channels), torch.rand(2, channels, 8, 8).to(memory_format=torch.channels_last)


class Steps(nn.Module):
    """Joins the steps of each sequence to one row, in a copy that has the steps first."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        steps = (x + 1).permute(1, 0, 2).contiguous()
        return steps.view(steps.shape[0], -1)


def permuted() -> tuple[nn.Module, torch.Tensor]:
    """Return two sequences of five steps that lie in memory step by step."""
    return Steps(), torch.rand(5, 2, 4).permute(1, 0, 2)
