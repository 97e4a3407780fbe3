"""Count a model's parameters and operations, without running it and without changing its weights."""

from __future__ import annotations

import importlib
from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_ngraph.artifact import Model
from pytest_ngraph.system.installed import is_importable
from pytest_ngraph.workloads.copies import copied
from pytest_ngraph.workloads.flat import flattened, takes_tensors

if TYPE_CHECKING:
    import torch

    from pytest_ngraph.workloads import Built


def count(built: Built, batch_size: int) -> Model:
    """Return the parameters, the operations of one sample, and its tokens. A count that fails is None.

    Operations are counted on a copy of the model that has shapes but no values (PyTorch's meta device). This fails for
    a model whose control flow depends on values; such a model must still be measured.
    """
    known = Model(
        parameters=sum(parameter.numel() for parameter in built.module.parameters()),
        tokens=built.tokens,
        step=built.step,
    )
    try:
        module = _to_meta(built.module)
    except Exception:  # a user's module may hold something that cannot be copied, such as an open file
        return known
    moved = replace(built, module=module).with_inputs(tensor.to("meta") for tensor in built.inputs)
    shadow = moved if takes_tensors(moved) else flattened(moved)
    return replace(known, mult_adds=_count_mult_adds(shadow, batch_size), flops=_count_flops(shadow, batch_size))


def _to_meta(module: torch.nn.Module) -> torch.nn.Module:
    """Return a copy of the module on the meta device. The weights themselves are not copied."""
    import torch

    parameters = {id(p): torch.nn.Parameter(p.detach().to("meta"), p.requires_grad) for p in module.parameters()}
    buffers = {id(b): b.to("meta") for b in module.buffers()}
    return copied(module, {**parameters, **buffers})


def _count_mult_adds(shadow: Built, batch_size: int) -> int | None:
    """Return torchinfo's `total_mult_adds` at batch size 1 (the study's MACs, Table IV); None without torchinfo."""
    if not is_importable("torchinfo"):
        return None
    torchinfo = importlib.import_module("torchinfo")
    sample = tuple(tensor[:1] if tensor.shape[:1] == (batch_size,) else tensor for tensor in shadow.inputs)
    try:
        return int(torchinfo.summary(shadow.module, input_data=sample, device="meta", verbose=0).total_mult_adds)
    except Exception:  # a user's model may fail on meta tensors in any way
        return None


def _count_flops(shadow: Built, batch_size: int) -> int | None:
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    try:
        with FlopCounterMode(display=False) as counter, torch.no_grad():
            shadow.module(*shadow.args)
    except Exception:  # a user's model may fail on meta tensors in any way
        return None
    return int(counter.get_total_flops()) // batch_size
