"""Modules whose parts are called in ways of their own."""

from __future__ import annotations

from collections import OrderedDict

import torch
from torch import nn

Made = tuple[nn.Module, torch.Tensor]

KEPT = nn.Sequential(nn.Linear(4, 4), nn.ReLU()).eval()


def encoder() -> Made:
    """Return a layer for which PyTorch has a kernel of its own, unless somebody hooks a part."""
    layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True).eval()
    return nn.Sequential(layer), torch.rand(2, 5, 16)


def kept() -> Made:
    """Return the same module in every call."""
    return KEPT, torch.rand(2, 4)


class Head(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(8, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.linear(x))


class PartlyScripted(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Linear(4, 8)
        self.head = torch.jit.script(Head())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scored: torch.Tensor = self.head(self.body(x))
        return scored


def partly_scripted() -> Made:
    return PartlyScripted().eval(), torch.rand(2, 4)


def partly_compiled() -> Made:
    """Return a network whose author compiles a part in place."""
    part = nn.Sequential(nn.Linear(4, 4), nn.Tanh())
    part.compile(backend="eager")
    return nn.Sequential(nn.Linear(4, 4), part).eval(), torch.rand(2, 4)


class Residual(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.first(x)
        whole: torch.Tensor = x + self.second(x)
        return whole


def residual() -> Made:
    return Residual().eval(), torch.rand(2, 4)


class SharedHead(nn.Module):
    """Has one head under two names that it calls, and under one that it does not."""

    def __init__(self) -> None:
        super().__init__()
        head = Head()
        self.heads = nn.ModuleList([head, head])
        self.body, self.unused = nn.Linear(4, 8), head

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.body(x)
        scores: torch.Tensor = self.heads[0](x) + self.heads[1](x)
        return scores


def shared_head() -> Made:
    return SharedHead().eval(), torch.rand(2, 4)


def hooked() -> Made:
    """Return a layer whose hooks compute, as an adapter's do."""
    layer = nn.Linear(4, 4)
    layer.register_forward_pre_hook(lambda _, inputs: (torch.cos(inputs[0]),))
    layer.register_forward_hook(lambda _, __, output: torch.sin(output))
    return nn.Sequential(layer, nn.ReLU()).eval(), torch.rand(2, 4)


class Mixing(nn.Module):
    """Mixes its rows, after as many activations as asked for."""

    def __init__(self, activations: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.rand(6, 4))
        self.before = nn.Sequential(*(nn.ReLU() for _ in range(activations)))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        mixed = torch.einsum("nm,bmd->bnd", self.weight, self.before(x).relu())
        return torch.cat([mixed, x[:, 1:]], 1)


def mixing(activations: int) -> Made:
    return Mixing(activations), torch.rand(1, 4, 8)


class BusyInPython(nn.Module):
    """Counts before it computes."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * sum(number % 2 for number in range(100_000))


def busy_in_python() -> Made:
    layers = {"fast": nn.Linear(4, 4), "slow": BusyInPython()}
    return nn.Sequential(OrderedDict(layers)).eval(), torch.rand(2, 4)
