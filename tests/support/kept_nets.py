"""Modules that their author keeps, or that Python cannot copy by itself."""

from __future__ import annotations

import threading
import warnings

import torch
from torch import nn

from pytest_ngraph import Built

MODEL = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.0)).bfloat16()


class Locked(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear, self.lock, self.ready = nn.Linear(4, 4), threading.RLock(), threading.Event()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = self.linear(x)
        return result


class Uncopyable(Locked):
    """Holds a generator of Python, which nothing can copy."""

    def __init__(self) -> None:
        super().__init__()
        self.steps = (step for step in range(3))


def cast() -> tuple[nn.Module, torch.Tensor]:
    return MODEL, torch.rand(1, 4)


def own() -> Built:
    return Built(MODEL, (torch.rand(1, 4, dtype=torch.bfloat16),), as_is=True)


def locked() -> tuple[nn.Module, torch.Tensor]:
    return Locked(), torch.rand(1, 4)


def normalized() -> tuple[nn.Module, torch.Tensor]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it is deprecated, and models have it
        return nn.utils.weight_norm(nn.Linear(4, 4)), torch.rand(1, 4)


def uncopyable() -> tuple[nn.Module, torch.Tensor]:
    return Uncopyable(), torch.rand(1, 4)
