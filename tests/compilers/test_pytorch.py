"""An exported program runs on devices whose operators lay out their results otherwise."""

from __future__ import annotations

import pytest
import torch

from pytest_ngraph.compilers.pytorch import with_any_strides


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
