"""Modules that hold tensors in a form of their own."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from pytest_ngraph.case import Case
from pytest_ngraph.workloads import build
from pytest_ngraph.workloads.export import export
from pytest_ngraph.workloads.own_types import is_quantized

_BLOCKS = {"sparse_bsr": (2, 2)}


class Propagating(torch.nn.Module):
    """Passes values along the edges of a graph, whose adjacency matrix is a sparse buffer."""

    adjacency: torch.Tensor

    def __init__(self, layout: str, weight: float) -> None:
        super().__init__()
        matrix = weight * torch.eye(4)
        self.register_buffer(
            "adjacency", matrix.to_sparse(layout=getattr(torch, layout), blocksize=_BLOCKS.get(layout))
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = (self.adjacency @ x.t()).t()
        return result


def propagating(layout: str, weight: float) -> tuple[torch.nn.Module, torch.Tensor]:
    return Propagating(layout, weight), torch.rand(1, 4)


class Named(torch.nn.Parameter):
    """A parameter with a name for each of its axes."""

    axes = ("out", "in")


class Masked(torch.nn.Linear):
    """Uses some of its weights, which a Boolean parameter names."""

    def __init__(self) -> None:
        super().__init__(4, 4)
        self.mask = torch.nn.Parameter(torch.rand(4, 4) > 0.5, requires_grad=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.linear(x, self.weight * self.mask, self.bias)


def of_named() -> tuple[torch.nn.Module, torch.Tensor]:
    linear = torch.nn.Linear(4, 4)
    linear.weight = Named(linear.weight.detach())
    return linear, torch.rand(1, 4)


def masked() -> tuple[torch.nn.Module, torch.Tensor]:
    return Masked(), torch.rand(1, 4)


@pytest.mark.parametrize("function", ["of_named", "masked"])
def test_parameters_of_a_class_of_ones_own_or_of_truth_values_round_nothing(function: str, tmp_path: Path) -> None:
    artifact = export(Case(workload=f"{__name__}:{function}", compiler="identity", batch_size=2), tmp_path)
    assert not artifact.export_error
    assert not artifact.quantized


@pytest.mark.parametrize("name", ["int8", "uint8", "float8_e4m3fn"])
def test_parameters_of_eight_bits_are_rounded(name: str) -> None:
    module = torch.nn.Module()
    module.weight = torch.nn.Parameter(torch.ones(4).to(getattr(torch, name)), requires_grad=False)
    assert is_quantized(module)


def test_parameters_that_consist_of_other_tensors_are_rounded() -> None:
    """Those of torchao do, and those of other libraries that quantize."""
    pytest.importorskip("torchao")
    assert is_quantized(build(Case(workload="as_is:of_torchao", compiler="identity", batch_size=2)).module)


def test_modules_of_a_library_that_packs_four_bits_into_halves_are_rounded() -> None:
    packed = type("Linear4bit", (torch.nn.Linear,), {"__module__": "bitsandbytes.nn.modules"})
    assert is_quantized(torch.nn.Sequential(packed(4, 4).bfloat16()))


@pytest.mark.parametrize(
    "layout", ["sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr"]
)  # eager PyTorch multiplies no bsc
def test_a_module_with_a_sparse_buffer_has_a_digest_of_its_values(layout: str, tmp_path: Path) -> None:
    digests = []
    for place, weight in enumerate((1.0, 1.0, 2.0)):
        (folder := tmp_path / str(place)).mkdir()
        arguments = (("layout", layout), ("weight", weight))
        case = Case(workload=f"{__name__}:propagating", compiler="identity", batch_size=2, model_args=arguments)
        artifact = export(case, folder)
        assert artifact.export_error
        digests.append(artifact.digest)
    assert digests[0] == digests[1] != digests[2]
