"""Modules that `copy.deepcopy` refuses, or that a user keeps."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator

import torch
from torch.nn.utils import prune

from pytest_ngraph import Built


class Locked(torch.nn.Module):
    """Holds locks, as modules with a cache of their own do."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 8, 3)
        self.lock, self.condition, self.ready = threading.Lock(), threading.Condition(), threading.Event()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with self.lock, self.condition:
            self.condition.notify()
        result: torch.Tensor = self.conv(x)
        return result


class Generating(Locked):
    """Holds a generator."""

    def __init__(self) -> None:
        super().__init__()
        self.steps: Iterator[int] = (number for number in range(9))


KEPT = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Dropout(0.0)).bfloat16()
KEPT_LOCKED, KEPT_GENERATING = Locked(), Generating()


def cast() -> tuple[torch.nn.Module, torch.Tensor]:
    """Return the network that this module keeps, to be cast."""
    return KEPT, torch.rand(1, 4)


def own() -> Built:
    """Return it as it is."""
    return Built(KEPT, (torch.rand(1, 4, dtype=torch.bfloat16),), as_is=True)


def normalized() -> tuple[torch.nn.Module, torch.Tensor]:
    """Return a network whose weight is computed from others, so that it is no leaf."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that parametrizations replace it
        return torch.nn.utils.weight_norm(torch.nn.Conv2d(3, 8, 3)), torch.rand(1, 3, 8, 8)


def pruned() -> tuple[torch.nn.Module, torch.Tensor]:
    """Return a network whose weight is masked."""
    conv = torch.nn.Conv2d(3, 8, 3)
    prune.random_unstructured(conv, "weight", 0.5)  # type: ignore[no-untyped-call]
    return conv, torch.rand(1, 3, 8, 8)


def locked() -> tuple[torch.nn.Module, torch.Tensor]:
    """Return a new network with locks."""
    return Locked(), torch.rand(1, 3, 8, 8)


def kept_locked() -> tuple[torch.nn.Module, torch.Tensor]:
    """Return the network with locks that this module keeps."""
    return KEPT_LOCKED, torch.rand(1, 3, 8, 8)


def generating() -> tuple[torch.nn.Module, torch.Tensor]:
    """Return a new network with a generator."""
    return Generating(), torch.rand(1, 3, 8, 8)


def kept_generating() -> tuple[torch.nn.Module, torch.Tensor]:
    """Return the network with a generator that this module keeps, in a new one."""
    return torch.nn.Sequential(KEPT_GENERATING), torch.rand(1, 3, 8, 8)
