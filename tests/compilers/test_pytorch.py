"""An exported program runs on devices whose operators lay out their results otherwise."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from pytest_ngraph.artifact import Artifact, Target, save_arrays
from pytest_ngraph.case import Case
from pytest_ngraph.compilers.pytorch import with_any_strides
from pytest_ngraph.compilers.serving.pytorch import PROGRAM_FILE, deploy_program


class Heads(torch.nn.Module):
    """Joins the heads of attention, as PyTorch's own layers do."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.permute(1, 0, 2).contiguous().view(6, 4)


def test_a_view_that_exporting_relied_on_copies_where_the_layout_is_another() -> None:
    as_on_cpu = torch.rand(3, 2, 4).permute(1, 0, 2)
    as_on_gpu = as_on_cpu.contiguous()
    exported = torch.export.export(Heads(), (as_on_cpu,))
    with pytest.raises(RuntimeError, match="view size is not compatible"):
        exported.module()(as_on_gpu)
    with_any_strides(exported.graph_module)
    assert torch.equal(exported.module()(as_on_gpu), Heads()(as_on_gpu))


def test_a_folder_for_a_gpu_has_the_views_with_which_it_is_measured(tmp_path: Path) -> None:
    as_on_cpu = torch.rand(3, 2, 4).permute(1, 0, 2)
    torch.export.save(torch.export.export(Heads(), (as_on_cpu,)), tmp_path / "exported.pt2")
    save_arrays(tmp_path / "inputs.npz", [as_on_cpu.numpy()])
    case = Case(workload="heads", compiler="identity", batch_size=1)
    artifact = Artifact(folder=tmp_path, case=case, program=tmp_path / "exported.pt2")
    deploy_program(artifact, Target(kind="cuda"), tmp_path)
    served = torch.export.load(tmp_path / PROGRAM_FILE).module()
    as_on_gpu = as_on_cpu.contiguous()
    assert torch.equal(served(as_on_gpu), Heads()(as_on_gpu))
