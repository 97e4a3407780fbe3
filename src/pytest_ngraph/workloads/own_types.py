"""What a module computes in by itself: the types of its values, and whether it rounds to eight bits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pytest_ngraph.case import FP32

if TYPE_CHECKING:
    import torch

    from pytest_ngraph.workloads import Built

PRECISIONS = {"float32": "fp32", "bfloat16": "bf16", "float16": "fp16", "float64": "fp64"}
"""Precision by PyTorch's name of the type."""
HALVES = ("bf16", "fp16")
QUANTIZED_MODULES = (
    "torch.ao.nn.quantized", "torch.ao.nn.intrinsic.quantized", "torch.ao.nn.qat", "torch.ao.nn.intrinsic.qat",
    "torch.ao.quantization.fake_quantize", "torchao.", "bitsandbytes.",
)  # fmt: skip
"""Where the types of modules that round are defined; those of training round, too, to values that they keep in fp32."""
QUANTIZED_OPERATORS = ("quantize", "fake_quant")
"""Parts of the names of operators that quantize, such as `quantized_decomposed.quantize_per_tensor`."""

_CSR, _CSC = ("crow_indices", "col_indices", "values"), ("ccol_indices", "row_indices", "values")
SPARSE = {"sparse_coo": ("_indices", "_values"), "sparse_csr": _CSR, "sparse_bsr": _CSR, "sparse_csc": _CSC,
          "sparse_bsc": _CSC}  # fmt: skip
"""Methods that return the dense tensors of a sparse one, by PyTorch's name of its layout."""


def precisions(built: Built) -> tuple[str, ...]:
    """Return the precisions of the module's parameters and buffers and of its inputs, sorted."""
    found = {_name(tensor.dtype) for tensor in (*_state(built.module), *built.inputs) if tensor.is_floating_point()}
    return tuple(sorted(found))


def with_halves_of(program: torch.export.ExportedProgram, known: tuple[str, ...]) -> tuple[str, ...]:
    """Return these precisions and the halves that the program computes in, as `torch.autocast` has it, sorted.

    Without halves, they are returned as they are; none of them stands for fp32.
    """
    import torch

    parts = (part for part in program.graph_module.modules() if isinstance(part, torch.fx.GraphModule))
    values = (node.meta.get("val") for part in parts for node in part.graph.nodes)
    types = {_name(value.dtype) for value in values if isinstance(value, torch.Tensor)}
    halves = types.intersection(HALVES)
    return tuple(sorted({*(known or (FP32,)), *halves})) if halves else known


def has_halves(module: torch.nn.Module) -> bool:
    """Return whether some of the module's parameters and buffers are in half precision."""
    return any(_name(tensor.dtype) in HALVES for tensor in _state(module))


def is_quantized(module: torch.nn.Module) -> bool:
    """Return whether the module rounds values to eight bits or fewer, by its parts, its weights or its graph."""
    import torch

    for part in module.modules():
        if type(part).__module__.startswith(QUANTIZED_MODULES):
            return True
        if isinstance(part, torch.fx.GraphModule) and any(map(_quantizes, part.graph.nodes)):
            return True
    types = {tensor.dtype for tensor in module.parameters()} - {torch.bool}
    return any(kind.itemsize == 1 for kind in types) or any(map(is_opaque, module.parameters()))


def _quantizes(node: torch.fx.Node) -> bool:
    return any(name in str(node.target) for name in QUANTIZED_OPERATORS if node.op.startswith("call"))


def is_opaque(tensor: torch.Tensor) -> bool:
    """Return whether a tensor holds its values in a form of its own, as torchao's quantized weights do.

    A class of the user's own may do no more than carry a name.
    """
    return tensor.is_quantized or hasattr(tensor, "__tensor_flatten__")


def plain(name: str, tensor: torch.Tensor) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield the ordinary tensors that a tensor consists of, with their names."""
    if tensor.is_quantized:
        yield f"{name} {tensor.dtype} {tensor.qscheme()}", tensor.int_repr()
        yield from _scales(name, tensor)
    elif hasattr(tensor, "__tensor_flatten__"):
        parts, context = tensor.__tensor_flatten__()
        for part in parts:
            yield from plain(f"{name}.{part} {context}", getattr(tensor, part))
    elif parts := SPARSE.get(layout := str(tensor.layout).removeprefix("torch.")):
        for part in parts:
            yield f"{name}.{part} {layout} {tuple(tensor.shape)}", getattr(tensor.detach(), part)()
    else:
        yield name, tensor


def _scales(name: str, quantized: torch.Tensor) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield what scales a quantized tensor: one number for all of it, or one for each channel along an axis."""
    import torch

    if quantized.qscheme() in (torch.per_tensor_affine, torch.per_tensor_symmetric):
        yield f"{name} scale", torch.tensor(quantized.q_scale(), dtype=torch.float64)
        yield f"{name} zero point", torch.tensor(quantized.q_zero_point())
    else:
        axis = quantized.q_per_channel_axis()
        yield f"{name} scales along {axis}", quantized.q_per_channel_scales()
        yield f"{name} zero points along {axis}", quantized.q_per_channel_zero_points()


def unpacked(value: object) -> object:
    """Return a nested value with what is saved of packed weights, as quantized LSTMs have them, in their places."""
    import torch

    if isinstance(value, torch.ScriptObject):
        try:
            return unpacked(value.__getstate__())  # type: ignore[attr-defined]
        except RuntimeError:  # of a class that saves nothing
            return value
    if isinstance(value, tuple | list):
        return [unpacked(part) for part in value]
    return value


def _name(kind: torch.dtype) -> str:
    name = str(kind).removeprefix("torch.")
    return PRECISIONS.get(name, name)


def _state(module: torch.nn.Module) -> Iterator[torch.Tensor]:
    yield from module.parameters()
    yield from module.buffers()
