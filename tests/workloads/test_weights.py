from __future__ import annotations

import torch
from torch import nn

from pytest_ngraph.workloads.seeding import seeded
from pytest_ngraph.workloads.weights import draw_constants


def _residual_branch() -> nn.Sequential:
    norm = nn.BatchNorm2d(3)
    nn.init.zeros_(norm.weight)
    return nn.Sequential(nn.Conv2d(3, 3, 1), norm)


def test_a_zero_initialised_branch_starts_to_matter() -> None:
    branch = _residual_branch().eval()
    images = torch.ones(1, 3, 4, 4)
    assert not branch(images).any()
    with seeded():
        draw_constants(branch)
    assert branch(images).abs().max() > 0.01


def test_scales_stay_near_what_they_were_and_others_near_zero() -> None:
    with seeded():
        norm = nn.BatchNorm1d(1000)
        draw_constants(norm)
        zeroed = nn.LayerNorm(1000)
        nn.init.zeros_(zeroed.weight)
        draw_constants(zeroed)
    assert norm.running_mean is not None
    assert norm.running_var is not None
    for tensor, mean, spread in (
        (norm.weight, 1.0, 0.1),
        (norm.bias, 0.0, 0.1),
        (zeroed.weight, 0.5, 0.1),
        (norm.running_mean, 0.0, 0.1),
        (norm.running_var, 1.05, 0.1 / 12**0.5),
    ):
        assert abs(tensor.mean().item() - mean) < 0.02
        assert abs(tensor.std().item() - spread) < 0.01


def test_weights_that_vary_are_left_alone() -> None:
    linear = nn.Linear(4, 4)
    before = linear.weight.clone()
    draw_constants(linear)
    assert torch.equal(linear.weight, before)
