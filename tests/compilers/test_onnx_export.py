"""What the exporter would refuse by itself."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from compiled import CPU, Export
from torch.nn.functional import scaled_dot_product_attention as attention

from pytest_ngraph.artifact import Artifact
from pytest_ngraph.case import Case
from pytest_ngraph.compilers.onnx_export import write_onnx, write_traced_onnx
from pytest_ngraph.errors import Unsupported

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


class OfGivenLengths(torch.nn.Module):
    """A recurrence over sequences of given lengths, which `torch.export` refuses. It does not read its first input."""

    def __init__(self) -> None:
        super().__init__()
        self.recurrence = torch.nn.LSTM(4, 6, batch_first=True)

    def forward(self, unread: torch.Tensor, x: torch.Tensor, lengths: torch.Tensor) -> dict[str, torch.Tensor]:
        packed = torch.nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        return {"states": torch.nn.utils.rnn.pad_packed_sequence(self.recurrence(packed)[0], batch_first=True)[0]}


class Spectrum(torch.nn.Module):
    """What neither exporter takes: a branch on a value, and an operator without an equal in ONNX."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x if float(x.sum()) > 1e9 else torch.fft.rfft(x).abs()


def of_given_lengths(batch_size: int) -> tuple[torch.nn.Module, tuple[torch.Tensor, ...]]:
    torch.manual_seed(0)
    return OfGivenLengths(), (torch.ones(3), torch.randn(batch_size, 5, 4), torch.tensor([2, 5, 1][:batch_size]))


def scripted(batch_size: int) -> tuple[torch.nn.Module, torch.Tensor]:
    torch.manual_seed(0)
    return torch.jit.script(torch.nn.Linear(4, 3)), torch.randn(batch_size, 4)


def spectrum(batch_size: int) -> tuple[torch.nn.Module, torch.Tensor]:
    return Spectrum(), torch.randn(batch_size, 8)


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
    assert_agrees(tmp_path / "net.onnx", artifact)


@pytest.mark.parametrize("build", ["of_given_lengths", "scripted"])
def test_the_trace_of_a_module_without_a_program_takes_all_of_its_inputs(
    build: str, exported: Export, tmp_path: Path
) -> None:
    artifact = exported(Case(workload=f"{__name__}:{build}", compiler="onnxruntime", batch_size=3))
    assert artifact.export_error
    write_traced_onnx(artifact, CPU, tmp_path / "net.onnx")
    assert_agrees(tmp_path / "net.onnx", artifact)


def test_what_neither_exporter_takes_is_refused_with_both_reasons(exported: Export, tmp_path: Path) -> None:
    artifact = exported(Case(workload=f"{__name__}:spectrum", compiler="onnxruntime", batch_size=2))
    reasons = r"torch\.export refuses .*; torch\.onnx cannot export a trace of it: .*fft_rfft"
    with pytest.raises(Unsupported, match=reasons):
        write_traced_onnx(artifact, CPU, tmp_path / "net.onnx")


def assert_agrees(file: Path, artifact: Artifact) -> None:
    """Assert that the graph in a file takes all inputs in their order, and returns what eager PyTorch does."""
    session = ort.InferenceSession(file, providers=["CPUExecutionProvider"])
    names = [value.name for value in session.get_inputs()]
    found = session.run(None, dict(zip(names, artifact.inputs(), strict=True)))
    for output, reference in zip(found, artifact.reference(), strict=True):
        np.testing.assert_allclose(output, reference, atol=1e-5)
