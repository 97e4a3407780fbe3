"""Modules that draw, keep a state, or change what they are given."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import nn


class Sampled(nn.Module):
    """Draws around what it computes, as a variational autoencoder does."""

    def __init__(self, returns_mean: bool) -> None:
        super().__init__()
        self.linear, self.returns_mean = nn.Linear(4, 4), returns_mean

    def forward(self, x: torch.Tensor) -> Any:
        mean = self.linear(x)
        sample = mean + torch.randn_like(mean)
        return {"sample": sample, "mean": mean} if self.returns_mean else sample


class Cached(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale: torch.Tensor | None = None

    def forward(self, x: torch.Tensor) -> Any:
        if self.scale is None:
            self.scale = torch.arange(4.0)
        return x * self.scale


class InPlace(nn.Module):
    def forward(self, x: torch.Tensor) -> Any:
        return x.mul_(2)


class Stateful(nn.Module):
    def get_extra_state(self) -> dict[str, int]:
        return {"steps": 3}

    def set_extra_state(self, state: object) -> None: ...

    def forward(self, x: torch.Tensor) -> Any:
        return x if x.sum() > 0 else -x


class Smoothed(nn.Module):
    """Keeps what it has computed: in a buffer that it assigns, in an attribute, or in the tensor that it returns."""

    def __init__(self, where: str) -> None:
        super().__init__()
        self.linear, self.where = nn.Linear(4, 4), where
        self.register_buffer("buffer", torch.zeros(1, 4))
        self.attribute = torch.zeros(1, 4)
        self.kept = torch.zeros(2, 4)

    def forward(self, x: torch.Tensor) -> Any:
        y = self.linear(x)
        if self.where == "kept":
            return self.kept.mul_(0.9).add_(y)
        setattr(self, self.where, 0.9 * getattr(self, self.where) + y)
        return getattr(self, self.where)


class DrawsElsewhere(nn.Module):
    """Draws from a generator of its own, or from NumPy's."""

    def __init__(self, where: str) -> None:
        super().__init__()
        self.linear, self.where, self.generator = nn.Linear(4, 4), where, torch.Generator()

    def forward(self, x: torch.Tensor) -> Any:
        y = self.linear(x)
        if self.where == "numpy":
            return y, y + float(np.random.rand())
        return y, y + torch.rand(4, generator=self.generator)


class Growing(nn.Module):
    """Returns all that it was given so far."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[torch.Tensor] = []

    def forward(self, x: torch.Tensor) -> Any:
        self.seen.append(x)
        return list(self.seen)


class Counting(nn.Module):
    """Keeps a state in a buffer, on which its first output depends."""

    calls: torch.Tensor

    def __init__(self, returns_both: bool) -> None:
        super().__init__()
        self.register_buffer("calls", torch.zeros(()))
        self.linear, self.returns_both = nn.Linear(4, 4), returns_both

    def forward(self, x: torch.Tensor) -> Any:
        self.calls += 1
        y = self.linear(x)
        return (y + self.calls, y) if self.returns_both else y + self.calls


class Written(nn.Module):
    """Keeps what it has computed at a position of a buffer, as a cache of keys and values in a model does."""

    keys: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.register_buffer("keys", torch.zeros(1, 3, 4))

    def forward(self, x: torch.Tensor, position: torch.Tensor) -> Any:
        self.keys[:, position] = self.linear(x)
        return self.keys.sum(1)


class Writing(nn.Module):
    """Writes into a buffer, or into an attribute, in each call."""

    calls: torch.Tensor
    padded: torch.Tensor

    def __init__(self, how: str) -> None:
        super().__init__()
        self.how, self.linear = how, nn.Linear(64, 64)
        self.register_buffer("calls", torch.zeros((), dtype=torch.long))
        self.register_buffer("padded", torch.zeros(2, 64))
        self.attribute, self.seen = torch.zeros(2, 64), torch.zeros(2, 64)
        self.once: torch.Tensor | None = None

    def forward(self, x: torch.Tensor) -> Any:
        if self.how == "counts":
            self.calls += 1
        elif self.how == "fills once" and self.once is None:
            self.once = self.padded.fill_(2)
        elif self.how == "keeps what it has seen":
            self.seen = x
        elif self.how == "fills":
            x = self.padded.copy_(x)
        elif self.how == "fills a part":
            self.padded[:, :60] = x[:, :60]
            x = self.padded
        elif self.how == "fills a part of an attribute":
            self.attribute[:, :60] = x[:, :60]
            x = self.attribute
        elif self.how == "indexes":
            x = x + self.padded[:1][self.calls]
            self.calls.mul_(1)
        return self.linear(x)


class Collecting(nn.Module):
    """Keeps what it has computed in a list, a dict or an object of its own."""

    def __init__(self, how: str) -> None:
        super().__init__()
        self.how, self.linear = how, nn.Linear(4, 4)
        self.window: list[torch.Tensor] = []
        self.by_name: dict[str, torch.Tensor] = {}
        self.layers = [{"keys": torch.zeros(2, 3, 4)}]
        self.cache = Cache()

    def forward(self, x: torch.Tensor) -> Any:
        y = self.linear(x)
        if self.how == "averages the last three":
            self.window = [*self.window, y][-3:]
            return torch.stack(self.window).mean(0)
        if self.how == "adds the one before":
            before, self.by_name["last"] = self.by_name.get("last", y), y
            return y + before
        if self.how == "only appends":
            self.window.append(y)
        elif self.how == "fills once":
            return y * self.by_name.setdefault("scale", torch.arange(4.0))
        elif self.how == "fills a part":
            self.layers[0]["keys"][:, 1] = y
            return self.layers[0]["keys"].sum(1)
        elif self.how == "fills a part of an object":
            self.cache.layers[0]["keys"][:, :2] = y[:1, :2]
            return y + self.cache.layers[0]["keys"]
        return y


class Accumulating(nn.Module):
    """Adds up what its layers compute: in a buffer that it sets to zero before, or in a list that it empties before."""

    total: torch.Tensor

    def __init__(self, where: str) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(128, 128) for _ in range(6))
        self.where, self.parts = where, list[torch.Tensor]()
        self.register_buffer("total", torch.zeros(4, 128))

    def forward(self, x: torch.Tensor) -> Any:
        if self.where == "list":
            self.parts.clear()
            for layer in self.layers:
                self.parts.append(layer(x))
            return torch.stack(self.parts).sum(0)
        self.total.zero_()
        for layer in self.layers:
            self.total += layer(x)
        return self.total * 1.0


class Cache:
    """Holds what earlier tokens were. Plain objects like this one are no inputs."""

    def __init__(self) -> None:
        self.layers = [{"keys": torch.zeros(1, 4)}]
        self.scale: torch.Tensor | None = None

    def update(self, how: str, x: torch.Tensor) -> torch.Tensor:
        (layer,) = self.layers
        if how == "appends":
            layer["keys"] = torch.cat([layer["keys"], x])
        elif how == "adds":
            layer["keys"] += 1
        elif how == "writes the same":
            layer["keys"].copy_(x[:1])
        elif how == "fills once" and self.scale is None:
            self.scale = torch.full((1, 4), 2.0)
        return layer["keys"].sum(0) * (1.0 if self.scale is None else self.scale)


class Attending(nn.Module):
    """Returns what a cache becomes, and what does not depend on it."""

    def __init__(self, how: str) -> None:
        super().__init__()
        self.linear, self.how = nn.Linear(4, 4), how

    def forward(self, x: torch.Tensor, cache: Cache) -> Any:
        y = self.linear(x)
        return y + cache.update(self.how, y), y


def written() -> tuple[nn.Module, tuple[torch.Tensor, torch.Tensor]]:
    return Written(), (torch.ones(1, 4), torch.tensor([1]))


def writing(how: str) -> tuple[nn.Module, torch.Tensor]:
    return Writing(how), torch.ones(2, 64)


def collecting(how: str) -> tuple[nn.Module, torch.Tensor]:
    return Collecting(how), torch.ones(2, 4)


def accumulating(where: str) -> tuple[nn.Module, torch.Tensor]:
    return Accumulating(where), torch.ones(4, 128)


def attending(how: str) -> tuple[nn.Module, tuple[torch.Tensor, Cache]]:
    return Attending(how), (torch.ones(2, 4), Cache())


def smoothed(where: str) -> tuple[nn.Module, torch.Tensor]:
    return Smoothed(where), torch.ones(1, 4)


def draws_elsewhere(where: str) -> tuple[nn.Module, torch.Tensor]:
    return DrawsElsewhere(where), torch.ones(1, 4)


def growing() -> tuple[nn.Module, torch.Tensor]:
    return Growing(), torch.ones(1, 4)
