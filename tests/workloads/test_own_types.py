"""Modules that hold tensors in a form of their own."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from pytest_ngraph.case import Case
from pytest_ngraph.workloads.export import export

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
