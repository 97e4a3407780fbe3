"""Modules in which values decide what is computed, or how much of it is returned."""

from __future__ import annotations

import torch
from torch import nn


class Policy(nn.Module):
    """Branches on data, and returns a value and logits of each sample."""

    def __init__(self) -> None:
        super().__init__()
        self.value, self.logits = nn.Linear(4, 1), nn.Linear(4, 10)

    def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
        if x.mean() > 0.1:
            x = x.relu()
        return {"value": self.value(x).squeeze(-1), "logits": self.logits(x)}


class Boxes(nn.Module):
    """Returns the rows of each image that are positive, at most a hundred."""

    def forward(self, images: list[torch.Tensor]) -> list[dict[str, torch.Tensor]]:
        found = []
        for image in images:
            boxes = image[image[:, 0] > 0]
            if len(boxes) > 100:
                boxes = boxes[:100]
            found.append({"boxes": boxes, "scores": boxes[:, 0]})
        return found


class Positive(nn.Module):
    """Returns the sum of each sample, and as many values as are positive."""

    def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
        return {"sum": x.sum(1), "positive": x[x > 0]}


class Repeated(nn.Module):
    """Computes the same as often as a value says, which its output does not show."""

    def forward(self, x: torch.Tensor, count: torch.Tensor) -> torch.Tensor:
        times = count.item()
        return (x.expand(times, *x.shape) * 2).amax(0)  # type: ignore[arg-type]  # an integer


class ReadTwice(nn.Module):
    """Returns what it computes with a number twice, which OpenVINO takes in a trace alone."""

    def forward(self, x: torch.Tensor, count: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        found = x * count.item()
        return found, found


class Conditional(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x - 1, (x,))
        return found


def repeated() -> tuple[nn.Module, tuple[torch.Tensor, torch.Tensor]]:
    return Repeated(), (torch.ones(1, 4), torch.tensor(3))


def read_twice() -> tuple[nn.Module, tuple[torch.Tensor, torch.Tensor]]:
    return ReadTwice(), (torch.ones(1, 4), torch.tensor(3))


def conditional() -> tuple[nn.Module, torch.Tensor]:
    return Conditional(), torch.ones(1, 4)


def policy() -> tuple[nn.Module, torch.Tensor]:
    return Policy(), torch.rand(1, 4)


def boxes() -> tuple[nn.Module, tuple[list[torch.Tensor]]]:
    return Boxes(), ([torch.ones(2, 4), torch.ones(3, 4)],)


def positive() -> tuple[nn.Module, torch.Tensor]:
    return Positive(), torch.rand(1, 4)
