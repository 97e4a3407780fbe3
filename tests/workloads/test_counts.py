from __future__ import annotations

from importlib.util import find_spec

import pytest
import torch
from torch import nn

from pytest_ngraph.workloads import Built
from pytest_ngraph.workloads.counts import count


class ValueDependent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x) if x.sum() > 0 else x


def test_operations_are_those_of_one_sample() -> None:
    counts = count(Built(nn.Linear(4, 2), (torch.ones(3, 4),)), 3)
    assert counts.parameters == 10
    assert counts.flops == 2 * 4 * 2


@pytest.mark.skipif(find_spec("torchinfo") is None, reason="torchinfo is not installed")
def test_mult_adds_are_torchinfos_at_batch_size_1() -> None:
    assert count(Built(nn.Linear(4, 2), (torch.ones(3, 4),)), 3).mult_adds == 10


def test_shared_parameters_count_once() -> None:
    first, second = nn.Linear(4, 4), nn.Linear(4, 4)
    second.weight = first.weight
    assert count(Built(nn.Sequential(first, second), (torch.ones(1, 4),)), 1).parameters == 16 + 4 + 4


def test_a_model_that_branches_on_values_has_no_counts_but_parameters() -> None:
    counts = count(Built(ValueDependent(), (torch.ones(1, 4),)), 1)
    assert (counts.parameters, counts.mult_adds, counts.flops) == (10, None, None)


def test_counting_leaves_the_module_as_it_was() -> None:
    module = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4)).eval()
    before = {name: value.clone() for name, value in module.state_dict().items()}
    count(Built(module, (torch.ones(2, 4),)), 2)
    assert not module.training
    for name, value in module.state_dict().items():
        assert torch.equal(value, before[name])


class Scaled(nn.Module):
    """Takes a number besides its samples, and may hold an object that cannot be copied."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 2)
        self.held: object = None

    def forward(self, scale: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        scaled: torch.Tensor = self.linear(x) * scale
        return scaled


def test_inputs_without_axes_are_no_batches() -> None:
    counts = count(Built(Scaled(), (torch.tensor(2.0), torch.ones(3, 4))), 3)
    assert counts.flops == 2 * 4 * 2


def test_a_module_that_cannot_be_copied_has_no_counts_but_parameters() -> None:
    module = Scaled()
    module.held = (step for step in range(3))
    counts = count(Built(module, (torch.tensor(2.0), torch.ones(3, 4))), 3)
    assert (counts.parameters, counts.mult_adds, counts.flops) == (10, None, None)
