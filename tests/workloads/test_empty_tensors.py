from __future__ import annotations

from pathlib import Path

import torch
from torch import nn

from pytest_ngraph.workloads.empty_tensors import drop_empty


class Cached(nn.Module):
    """Begins a cache as transformers does."""

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        begun = torch.cat([torch.tensor([], dtype=x.dtype), x], dim=-2)
        return begun, torch.cat([begun, x], dim=-2)


class Counts(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cat([torch.tensor([]), torch.tensor([]), x.sum().reshape(1)])


def _parts(program: torch.export.ExportedProgram) -> list[list[tuple[int, ...]]]:
    nodes = program.graph.find_nodes(op="call_function", target=torch.ops.aten.cat.default)
    return [[tuple(part.meta["val"].shape) for part in node.args[0]] for node in nodes]


def test_only_the_empty_parts_go_and_outputs_stay() -> None:
    x = torch.randn(2, 3, 4)
    program = torch.export.export(Cached(), (x,), strict=False)
    assert _parts(program) == [[(0,), (2, 3, 4)], [(2, 3, 4), (2, 3, 4)]]
    drop_empty(program)
    assert _parts(program) == [[(2, 3, 4)], [(2, 3, 4), (2, 3, 4)]]
    assert all(node.users for node in program.graph.nodes if node.op == "call_function")
    for found, expected in zip(program.module()(x), Cached()(x), strict=True):
        assert torch.equal(found, expected)


def test_vectors_may_be_empty() -> None:
    program = torch.export.export(Counts(), (torch.randn(2),), strict=False)
    before = _parts(program)
    drop_empty(program)
    assert _parts(program) == before


def test_the_program_can_be_saved(tmp_path: Path) -> None:
    program = torch.export.export(Cached(), (torch.randn(2, 3, 4),), strict=False)
    drop_empty(program)
    torch.export.save(program, tmp_path / "program.pt2")
    assert _parts(torch.export.load(tmp_path / "program.pt2"))[0] == [(2, 3, 4)]
