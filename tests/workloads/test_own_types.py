"""Modules that hold tensors in a form of their own."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
import torch

from pytest_ngraph.case import Case, Scalar
from pytest_ngraph.workloads import Built, build
from pytest_ngraph.workloads.export import export
from pytest_ngraph.workloads.own_types import is_quantized, plain

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


class Pruned(torch.nn.Module):
    """Has a sparse weight that is learned."""

    def __init__(self, layout: str, weight: float) -> None:
        super().__init__()
        matrix = weight * torch.eye(4)
        self.weight = torch.nn.Parameter(matrix.to_sparse(layout=getattr(torch, layout)))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = torch.sparse.mm(self.weight, x.t()).t()
        return result


def pruned(layout: str, weight: float) -> tuple[torch.nn.Module, torch.Tensor]:
    return Pruned(layout, weight), torch.rand(1, 4)


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


def packed(kind: str, weight: float) -> Built:
    """Return a quantized module with this value in the middle of its weights."""
    torch.manual_seed(0)
    layer = torch.nn.Linear(64, 64) if kind == "linear" else torch.nn.LSTM(64, 16)
    matrix = next(layer.parameters())
    with torch.no_grad():
        matrix[32, 32], matrix[0, 0] = weight, 1.0
    quantize = torch.ao.quantization.quantize_dynamic
    module = quantize(torch.nn.Sequential(layer).eval(), {type(layer)})  # type: ignore[no-untyped-call]
    return Built(module, (torch.rand(1, 1, 64),), as_is=True)


def _digest(function: str, folder: Path, **arguments: Scalar) -> str:
    """Return the digest of a workload of this file, of which there is no program."""
    case = Case(workload=f"{__name__}:{function}", compiler="identity", batch_size=1, model_args=(*arguments.items(),))
    with tempfile.TemporaryDirectory(dir=folder) as empty:
        artifact = export(case, Path(empty))
    assert artifact.export_error
    return artifact.digest


@pytest.mark.parametrize(
    "layout", ["sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr"]
)  # eager PyTorch multiplies no bsc
def test_a_module_with_a_sparse_buffer_has_a_digest_of_its_values(layout: str, tmp_path: Path) -> None:
    digests = [_digest("propagating", tmp_path, layout=layout, weight=weight) for weight in (1.0, 1.0, 2.0)]
    assert digests[0] == digests[1] != digests[2]


@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr"])
def test_a_module_with_a_sparse_weight_has_a_digest_of_its_values(layout: str, tmp_path: Path) -> None:
    digests = [_digest("pruned", tmp_path, layout=layout, weight=weight) for weight in (1.0, 1.0, 2.0)]
    assert digests[0] == digests[1] != digests[2]


@pytest.mark.parametrize("kind", ["linear", "lstm"])
def test_packed_weights_have_a_digest_of_all_their_values(kind: str, tmp_path: Path) -> None:
    """Their text shows the corners of a matrix, or where they are in memory."""
    digests = [_digest("packed", tmp_path, kind=kind, weight=weight) for weight in (0.5, 0.5, -0.5)]
    assert digests[0] == digests[1] != digests[2]


def test_every_scale_and_zero_point_of_a_quantized_tensor_is_among_its_parts() -> None:
    scales, zeros = torch.rand(1200).double(), torch.arange(1200) % 7
    quantized = torch.quantize_per_channel(torch.rand(1200, 2), scales, zeros, axis=0, dtype=torch.qint8)
    values, *parts = (tensor for _, tensor in plain("weight", quantized))
    assert values.equal(quantized.int_repr())
    assert [part.equal(expected) for part, expected in zip(parts, (scales, zeros), strict=True)] == [True, True]
    whole = torch.quantize_per_tensor(torch.rand(4), 0.1, 3, torch.quint8)
    _, *parts = (tensor for _, tensor in plain("weight", whole))
    assert [part.item() for part in parts] == [0.1, 3]
