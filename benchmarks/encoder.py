"""An example of your own workload: an encoder that compresses images before they are sent over a slow link."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

IMAGE = (3, 224, 224)
LATENT_CHANNELS = 12
STEPS = 3
"""Steps of the encoder. Each halves height and width."""


def build(batch_size: int, width: int) -> tuple[torch.nn.Module, torch.Tensor]:
    """Return the encoder with `width` channels inside, and example images."""
    import torch  # here, because `conftest.py` imports this file whenever pytest collects
    from torch import nn

    layers: list[nn.Module] = []
    channels = IMAGE[0]
    for _ in range(STEPS):
        layers += [nn.Conv2d(channels, width, 3, stride=2, padding=1), nn.BatchNorm2d(width), nn.ReLU()]
        channels = width
    layers.append(nn.Conv2d(channels, LATENT_CHANNELS, 1))
    return nn.Sequential(*layers).eval(), torch.rand(batch_size, *IMAGE)
