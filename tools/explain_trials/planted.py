"""The networks of the test repository. `plants.json` beside this file defines a revision.

It has, for each network, the seed of its weights, and the module in which something is planted, if anything is.
"""

from __future__ import annotations

import json
from pathlib import Path

import timm
import torch
from torch import nn


def network(name: str) -> tuple[nn.Module, torch.Tensor]:
    """Return one of timm's networks as this revision has it, and an image."""
    revision = json.loads(Path(__file__).with_name("plants.json").read_text())[name]
    torch.manual_seed(revision["seed"])
    module: nn.Module = timm.create_model(name).eval()
    if path := revision["module"]:
        module.set_submodule(path, Planted(module.get_submodule(path), revision["change"]))
    return module, torch.randn(1, 3, 224, 224, generator=torch.Generator().manual_seed(0))


class Planted(nn.Module):
    """A convolution or a linear layer with something behind it.

    Args:
        inner: the layer.
        change: key of `CHANGES`.
    """

    def __init__(self, inner: nn.Module, change: str) -> None:
        super().__init__()
        self.inner = inner
        self.added = CHANGES[change](inner)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = self.added(self.inner(x))
        return result


class Activation(nn.Module):
    """An activation that compilers have no kernel for."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.where(x > 0, torch.log1p(x.clamp(min=0)), torch.sin(x))


class Transpose(nn.Module):
    """A sum along the last axis but one, which is laid out as the last for it."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(x.transpose(-1, -2).contiguous(), -1).transpose(-1, -2).contiguous()


class Reorder(nn.Module):
    """A product over the channels of data whose layout has them last, or, of tokens, first."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.channels_first = isinstance(inner, nn.Conv2d)
        self.mix = nn.Linear(*2 * (width(inner),)) if self.channels_first else nn.Conv1d(*2 * (width(inner),), 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.channels_first:
            result: torch.Tensor = self.mix(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)
            return result
        tokens = x.flatten(1, -2)
        mixed: torch.Tensor = self.mix(tokens.transpose(1, 2)).transpose(1, 2)
        return mixed.reshape(x.shape)


class Cast(nn.Module):
    """A detour through double precision."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(x.double()).float()


def layer(inner: nn.Module) -> nn.Module:
    """Return one more layer of the same kind and width."""
    features = width(inner)
    if isinstance(inner, nn.Conv2d):
        return nn.Conv2d(features, features, 3, padding=1)
    return nn.Linear(features, features)


def wider(inner: nn.Module) -> nn.Module:
    """Return a detour through twice the width."""
    features = width(inner)
    if isinstance(inner, nn.Conv2d):
        return nn.Sequential(nn.Conv2d(features, 2 * features, 1), nn.Conv2d(2 * features, features, 1))
    return nn.Sequential(nn.Linear(features, 2 * features), nn.Linear(2 * features, features))


def width(layer: nn.Module) -> int:
    """Return the number of channels or features that a layer gives."""
    found = layer.out_channels if isinstance(layer, nn.Conv2d) else layer.out_features
    assert isinstance(found, int)
    return found


CHANGES = {
    "layer": layer,
    "wider": wider,
    "activation": Activation,
    "transpose": Transpose,
    "reorder": Reorder,
    "cast": Cast,
}
"""What is planted behind a layer, by name."""
