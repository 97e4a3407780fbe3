"""A workload of one's own: an encoder that makes images small before they are sent over a narrow link."""

import torch
from torch import nn

IMAGE = (3, 224, 224)
LATENT_CHANNELS = 12
STEPS = 3
"""Each halves height and width."""


def build(batch_size: int, width: int) -> tuple[nn.Module, torch.Tensor]:
    """The encoder with `width` channels inside, and example images."""
    layers: list[nn.Module] = []
    channels = IMAGE[0]
    for _ in range(STEPS):
        layers += [nn.Conv2d(channels, width, 3, stride=2, padding=1), nn.BatchNorm2d(width), nn.ReLU()]
        channels = width
    layers.append(nn.Conv2d(channels, LATENT_CHANNELS, 1))
    return nn.Sequential(*layers).eval(), torch.rand(batch_size, *IMAGE)
