"""A module that is changed for its target is a copy, also where `copy.deepcopy` refuses it."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
import uncopied
from compiled import CPU, Export, Load

from pytest_ngraph.case import Case
from pytest_ngraph.errors import Unsupported
from pytest_ngraph.workloads.verify import verify

IN_CHANNELS_LAST = "identity:channels_last=true"


@pytest.mark.parametrize("function", ["normalized", "pruned", "locked", "kept_locked", "generating"])
def test_what_cannot_be_copied_as_it_is_runs_in_another_layout(function: str, load: Load, exported: Export) -> None:
    case = Case(workload=f"uncopied:{function}", compiler=IN_CHANNELS_LAST, batch_size=1)
    model = load(case)
    assert verify(model.outputs(), exported(case).reference(), "fp32").agrees
    output = model()
    assert isinstance(output, torch.Tensor)
    assert output.is_contiguous(memory_format=torch.channels_last)
    assert uncopied.KEPT_LOCKED.conv.weight.is_contiguous()


@pytest.mark.parametrize("function", ["normalized", "pruned"])
def test_a_computed_weight_follows_the_precision(function: str, load: Load, exported: Export) -> None:
    case = Case(workload=f"uncopied:{function}", compiler="identity", batch_size=1, precision="bf16")
    model = load(case, replace(CPU, precision="bf16"))
    assert verify(model.outputs(), exported(case).reference(), "bf16").agrees
    output = model()
    assert isinstance(output, torch.Tensor)
    assert output.dtype == torch.bfloat16


def test_a_module_that_is_kept_and_cannot_be_copied_is_one_message(load: Load) -> None:
    with pytest.raises(
        Unsupported,
        match=r"uncopied:kept_generating cannot be copied \(TypeError: cannot pickle 'generator' object\).*new one",
    ):
        load(Case(workload="uncopied:kept_generating", compiler=IN_CHANNELS_LAST, batch_size=1))
    assert uncopied.KEPT_GENERATING.conv.weight.is_contiguous()
