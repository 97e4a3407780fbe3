"""Count a model's parameters and operations, without running it and without changing its weights."""

from __future__ import annotations

import copy
import importlib
from typing import TYPE_CHECKING

from pytest_ngraph.artifact import Model
from pytest_ngraph.system.installed import is_importable

if TYPE_CHECKING:
    import torch

    from pytest_ngraph.workloads import Built


def count(built: Built) -> Model:
    """Return the parameters, and the operations of one sample. A count that fails is None.

    Operations are counted on a copy of the model that has shapes but no values (PyTorch's meta device). This fails for
    a model whose control flow depends on values; such a model must still be measured.
    """
    parameters = sum(parameter.numel() for parameter in built.module.parameters())
    try:
        shadow = _to_meta(built.module)
    except Exception:  # a user's module may hold something that cannot be copied: a lock, an open file
        return Model(parameters=parameters)
    inputs = tuple(tensor.to("meta") for tensor in built.inputs)
    return Model(
        parameters=parameters,
        mult_adds=_count_mult_adds(shadow, tuple(tensor[:1] if tensor.ndim else tensor for tensor in inputs)),
        flops=_count_flops(shadow, inputs),
    )


def _to_meta(module: torch.nn.Module) -> torch.nn.Module:
    """Return a copy of the module on the meta device. The memo keeps `deepcopy` from copying the weights first."""
    import torch

    parameters = {id(p): torch.nn.Parameter(p.detach().to("meta"), p.requires_grad) for p in module.parameters()}
    buffers = {id(b): b.to("meta") for b in module.buffers()}
    return copy.deepcopy(module, {**parameters, **buffers})


def _count_mult_adds(shadow: torch.nn.Module, sample: tuple[torch.Tensor, ...]) -> int | None:
    """Return torchinfo's `total_mult_adds` at batch size 1 (the study's MACs, Table IV); None without torchinfo."""
    if not is_importable("torchinfo"):
        return None
    torchinfo = importlib.import_module("torchinfo")
    try:
        return int(torchinfo.summary(shadow, input_data=sample, device="meta", verbose=0).total_mult_adds)
    except Exception:  # a user's model may fail on meta tensors in any way
        return None


def _count_flops(shadow: torch.nn.Module, inputs: tuple[torch.Tensor, ...]) -> int | None:
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    try:
        with FlopCounterMode(display=False) as counter, torch.no_grad():
            shadow(*inputs)
    except Exception:  # a user's model may fail on meta tensors in any way
        return None
    batch_size = next((tensor.shape[0] for tensor in inputs if tensor.ndim), 1) or 1
    return int(counter.get_total_flops()) // batch_size
