"""What the exporter would refuse by itself."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from compiled import Export
from torch.nn.functional import scaled_dot_product_attention as attention

from pytest_ngraph.case import Case
from pytest_ngraph.compilers.onnx_export import write_onnx

ort = pytest.importorskip("onnxruntime")
BLOCKS = 3


class Masked(torch.nn.Module):
    """Attention with a mask for each block of tokens."""

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return attention(x, x, x, attn_mask=mask)


class OneHead(torch.nn.Module):
    """Causal attention without an axis of heads, and over four axes."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return attention(x, x, x, is_causal=True, scale=0.2) + attention(x[:, None], x[:, None], x[:, None])[:, 0]


def in_blocks(batch_size: int) -> tuple[torch.nn.Module, tuple[torch.Tensor, torch.Tensor]]:
    torch.manual_seed(0)
    return Masked(), (torch.randn(batch_size, BLOCKS, 2, 5, 4), torch.randn(BLOCKS, 1, 5, 5))


def one_head(batch_size: int) -> tuple[torch.nn.Module, torch.Tensor]:
    torch.manual_seed(0)
    return OneHead(), torch.randn(batch_size, 5, 4)


@pytest.mark.parametrize("build", ["in_blocks", "one_head"])
def test_attention_over_any_number_of_axes_is_exported(build: str, exported: Export, tmp_path: Path) -> None:
    artifact = exported(Case(workload=f"{__name__}:{build}", compiler="onnxruntime", batch_size=2))
    write_onnx(artifact, tmp_path / "net.onnx")
    session = ort.InferenceSession(tmp_path / "net.onnx", providers=["CPUExecutionProvider"])
    names = [value.name for value in session.get_inputs()]
    found = session.run(None, dict(zip(names, artifact.inputs(), strict=True)))
    np.testing.assert_allclose(found[0], artifact.reference()[0], atol=1e-5)
