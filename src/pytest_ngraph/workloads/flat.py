"""Modules that take tensors and return one or a tuple of them, as every compiler can."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ngraph.workloads import Built
from pytest_ngraph.workloads.structure import tensors_in

if TYPE_CHECKING:
    import torch

FLATTENED = "module."
"""What precedes the names of parameters in a program whose inputs and outputs were made flat."""


def is_flat(built: Built, outputs: object) -> bool:
    """Return whether every compiler takes arguments and returns outputs of this form."""
    import torch

    return takes_tensors(built) and (
        isinstance(outputs, torch.Tensor)
        or (type(outputs) is tuple and all(isinstance(each, torch.Tensor) for each in outputs))
    )


def takes_tensors(built: Built) -> bool:
    """Return whether the module is called with tensors alone, by position."""
    import torch

    return not built.kwargs and all(isinstance(each, torch.Tensor) for each in built.args)


def flattened(built: Built) -> Built:
    """Return the workload as a module that takes `built.inputs` and returns its output tensors in one tuple.

    Some compilers take or return no dicts, keyword arguments, types of the user's own, numbers or None. What is no
    tensor among the arguments becomes a constant of the module.
    """
    import torch

    class Flattened(torch.nn.Module):
        def __init__(self, module: torch.nn.Module) -> None:
            super().__init__()
            self.module = module

        def forward(self, *inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
            given = built.with_inputs(inputs)
            return tuple(tensors_in(self.module(*given.args, **given.kwargs)))

    module = Flattened(built.module)
    module.training = built.module.training
    return Built(module, built.inputs, as_is=built.as_is)
