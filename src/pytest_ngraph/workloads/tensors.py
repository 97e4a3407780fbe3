"""Conversions between PyTorch tensors and plain data: the type of a precision, and nested outputs as flat arrays."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from pytest_ngraph.workloads.structure import tensors_in

if TYPE_CHECKING:
    import torch

    from pytest_ngraph.artifact import Array
    from pytest_ngraph.case import Precision


def dtype(precision: Precision) -> torch.dtype:
    """Return PyTorch's type of this precision."""
    import torch

    return {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}[precision]


def cast(tensor: torch.Tensor, precision: Precision) -> torch.Tensor:
    """Return a floating-point tensor in this precision, any other tensor unchanged."""
    return tensor.to(dtype(precision)) if tensor.is_floating_point() else tensor


def in_order(tensor: torch.Tensor) -> torch.Tensor:
    """Return a copy that lies in memory in the order of its axes, as compiled models are fed.

    Not `contiguous`, which returns a tensor of any layout where all axes but one have length 1.
    """
    import torch

    return tensor.clone(memory_format=torch.contiguous_format)


def is_in(tensor: torch.Tensor, precision: Precision) -> bool:
    """Return whether a module's tensor stays as it is where `module_in` puts the module into this precision."""
    import torch

    kind = torch.complex64 if tensor.is_complex() else dtype(precision) if tensor.is_floating_point() else tensor.dtype
    return tensor.device.type == "cpu" and tensor.dtype == kind


def module_in(module: torch.nn.Module, precision: Precision) -> torch.nn.Module:
    """Put a module on the CPU and its floats into this precision, in place. Complex numbers become those of fp32.

    `Module.to` alone would make complex numbers real. It raises what libraries raise in place of it.
    """
    tensors = (*module.parameters(), *module.buffers())
    if not any(tensor.is_complex() for tensor in tensors):
        return module.to("cpu", dtype(precision))
    convert = partial(converted, precision=precision)
    complex_module: torch.nn.Module = module.cpu()._apply(convert)  # type: ignore[no-untyped-call]
    return complex_module


def converted(tensor: torch.Tensor, precision: Precision) -> torch.Tensor:
    """Return a floating-point tensor in this precision, a complex one in that of fp32, any other tensor unchanged."""
    import torch

    return tensor.to(torch.complex64) if tensor.is_complex() else cast(tensor, precision)


def flatten(outputs: object) -> list[Array]:
    """Return the tensors in nested outputs in their order, as arrays on the CPU, floats of any precision as fp32."""
    return [to_array(tensor) for tensor in tensors_in(outputs)]


def to_array(tensor: torch.Tensor) -> Array:
    """Return the tensor's values on the CPU, contiguous, floats of any precision as fp32."""
    return _array(tensor.float() if tensor.is_floating_point() else tensor)


def input_array(tensor: torch.Tensor) -> Array:
    """Return an input's values likewise, but doubles as they are: fp32 has no like of a time in seconds, for example.

    The reference is computed from the inputs themselves, and compiled models get these values.
    """
    import torch

    return _array(tensor) if tensor.dtype == torch.float64 else to_array(tensor)


def _array(tensor: torch.Tensor) -> Array:
    on_cpu = tensor.detach().cpu()
    computed = on_cpu.resolve_conj().resolve_neg()  # a conjugate, or its imaginary part, may be only marked as such
    return computed.contiguous().numpy()  # not np.ascontiguousarray, which makes a vector of a scalar
