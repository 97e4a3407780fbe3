from __future__ import annotations

import pytest
import torch
from torch import nn

from pytest_ngraph.workloads.seeding import seeded
from pytest_ngraph.workloads.weights import draw_constants, hidden, take_statistics


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


def test_statistics_of_a_call_keep_a_signal_from_vanishing() -> None:
    with seeded():
        layers = [part for _ in range(4) for part in (nn.Conv2d(4, 4, 1, bias=False), nn.BatchNorm2d(4))]
        network = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.BatchNorm2d(4)).eval()
        images = torch.randn(1, 4, 8, 8)
        for layer in layers[::2]:
            nn.init.normal_(layer.weight, std=0.05)
    assert network[:-2](images).std() < 1e-3
    last = dict(network[-1].state_dict())
    take_statistics(network, (images,))
    assert 0.9 < network[:-2](images).std() < 1.1
    assert all(torch.equal(value, network[-1].state_dict()[name]) for name, value in last.items()), "it has one value"


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


class Gated(nn.Module):
    """Residual branches that add nothing: a zero-initialised norm, a small layer scale, and ReZero's gate."""

    def __init__(self) -> None:
        super().__init__()
        self.branch = _residual_branch()
        self.scale = nn.Parameter(torch.full((3, 1, 1), 1e-6))
        self.gate = nn.Parameter(torch.zeros(()))
        self.head = nn.Linear(4, 4)
        nn.init.zeros_(self.head.bias)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        summed = x + self.branch(x) + self.scale * x.sin() + self.gate * x.cos()
        return torch.relu(self.head(summed))


def test_what_starts_at_zero_hides_what_it_scales() -> None:
    """A bias of 0 hides only itself, and every layer has one."""
    assert hidden(Gated(), tolerance=1e-4) == ["scale", "gate", "branch.1.weight"]
    assert hidden(Gated(), tolerance=1e-7) == ["gate", "branch.1.weight"]


def test_a_branch_that_is_drawn_hides_nothing() -> None:
    module = Gated()
    with seeded():
        draw_constants(module)
    assert hidden(module, tolerance=1e-4) == []


@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr", "sparse_csc"])
def test_a_sparse_parameter_hides_nothing_and_is_left_alone(layout: str) -> None:
    module = nn.Linear(4, 4)
    module.weight = nn.Parameter(torch.zeros(4, 4).to_sparse(layout=getattr(torch, layout)), requires_grad=False)
    assert hidden(module, tolerance=1e-4) == []
    draw_constants(module)
    assert not module.weight.to_dense().any()
