"""Workloads of operators that compilers lack. `build(batch_size)` as for any workload of one's own."""

from __future__ import annotations

from collections.abc import Callable

import torch

Workload = tuple[torch.nn.Module, torch.Tensor]
SIZE = 8


class Function(torch.nn.Module):
    """A function of one tensor as a module."""

    def __init__(self, function: Callable[[torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self._function = function

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self._function(x)


def inverse(batch_size: int) -> Workload:
    return Function(torch.linalg.inv), torch.eye(SIZE).repeat(batch_size, 1, 1)


def ordered(batch_size: int) -> Workload:
    return Function(lambda x: torch.sort(x).values), torch.arange(float(SIZE)).repeat(batch_size, 1)


def spectrum(batch_size: int) -> Workload:
    return Function(lambda x: torch.fft.rfft(x).abs()), torch.arange(float(SIZE)).repeat(batch_size, 1)
