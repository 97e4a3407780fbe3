"""Pad the operands of contractions to whole register tiles, and pack their weights in the order of the tiles.

A tile reads the same few columns of every row of the weights. In the usual order, with output channels innermost,
consecutive rows are as far apart as there are channels. In wide layers each row is on a page of its own, which defeats
the prefetchers and the address translation. Packed, a tile reads one stream:

    (kernel height, kernel width, in, out) -> (out / columns, kernel height, kernel width, in, columns)

Weights are constants, so packing them costs nothing at run time.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_ngraph.compilers.tvm.cpu import kernel
from pytest_ngraph.compilers.tvm.cpu.contraction import Roles
from pytest_ngraph.compilers.tvm.rewriting import rewritten

if TYPE_CHECKING:
    from pytest_ngraph.artifact import Array
    from pytest_ngraph.compilers.tvm.cpu.tile import Tile
    from pytest_ngraph.compilers.tvm.target import Processor


@dataclass(frozen=True, slots=True)
class PackedKernel:
    """A contraction on padded operands.

    Attributes:
        function: TVM's function of the kernel.
        weights: position of the parameter that takes packed weights; None if there is none.
        columns: columns of a tile.
    """

    function: Any
    weights: int | None
    columns: int


def pack_weights(module: Any, processor: Processor) -> Any:
    """Return the module with every contraction padded, its weights packed where all its calls pass constants."""
    from tvm import relax

    packed = {}
    for variable, calls in _calls(module).items():
        fitted = pack_kernel(module[variable], set.intersection(*map(_constant_arguments, calls)), processor)
        if fitted is not None:
            packed[variable.name_hint] = fitted

    @relax.expr_functor.mutator
    class CallPacked(relax.PyExprMutator):  # type: ignore[misc]
        def visit_call_(self, call: Any) -> Any:
            call = super().visit_call_(call)
            fitted = packed.get(call.args[0].name_hint) if _calls_kernel(call) else None
            if fitted is None:
                return call
            arguments = list(call.args[1])
            if fitted.weights is not None:
                weights = pack(arguments[fitted.weights].value.numpy(), fitted.columns)
                arguments[fitted.weights] = relax.const(weights, str(weights.dtype))  # fp64 would become fp32
            # A new variable: the old one keeps the type of the kernel on unpacked weights.
            variable = self.builder_.add_func(fitted.function, f"{call.args[0].name_hint}_packed")
            return relax.call_tir(variable, arguments, out_ty=call.ty)

    return relax.transform.DeadCodeElimination()(rewritten(module, CallPacked))


def pack(weights: Array, columns: int) -> Array:
    """Pack weights of shape (..., out) into shape (out / columns, ..., columns)."""
    tiles = weights.reshape(*weights.shape[:-1], -1, columns)
    return np.ascontiguousarray(np.moveaxis(tiles, -2, 0))


def pack_kernel(function: Any, constants: set[int], processor: Processor) -> PackedKernel | None:
    """Return the kernel padded and packed; None unless it has exactly one contraction.

    Args:
        constants: positions of parameters that are constant in all calls.
    """
    import tvm
    from tvm import s_tir

    sch = s_tir.Schedule(tvm.IRModule({"main": function}))
    contractions = [block for block in kernel.blocks(sch) if kernel.is_contraction(sch, block)]
    if len(contractions) != 1:
        return None
    (block,) = contractions
    roles = Roles.of(sch, block)
    weights = _weights(sch, block, [function.params[i] for i in constants], roles)
    is_product = _is_matrix_product(sch, block)
    # The columns of weights are not padded, because that would copy the weights in every run.
    size = roles.best_tile(processor, pads_rows=is_product, pads_columns=is_product and weights is None)
    if is_product:
        _pad(sch, block, roles, size)
    if weights is None:
        return PackedKernel(sch.mod["main"], None, size.columns)
    read = next(i for i, region in enumerate(sch.get(block).reads) if region.source.same_as(weights))
    columns = size.columns
    sch.transform_layout(block, ("read", read), lambda *i: [i[-1] // columns, *i[:-1], i[-1] % columns])
    position = next(i for i, parameter in enumerate(function.params) if parameter.same_as(weights))
    return PackedKernel(sch.mod["main"], position, columns)


def _weights(sch: Any, block: Any, constants: list[Any], roles: Roles) -> Any:
    """Return the constant parameter whose last index is the column; None if there is none."""
    for load in kernel.operands(sch, block) or ():
        if load.indices[-1].same_as(roles.columns.var) and any(load.source.same_as(c) for c in constants):
            return load.source
    return None


def _is_matrix_product(sch: Any, block: Any) -> bool:
    """Return whether every index of the operands is an axis: only then can TVM pad them."""
    from tvm.tirx import Var

    return all(isinstance(index, Var) for load in kernel.operands(sch, block) or () for index in load.indices)


def _pad(sch: Any, block: Any, roles: Roles, size: Tile) -> None:
    """Pad rows and columns with zeros to whole tiles: 197 tokens become 22 tiles of 9."""
    axes = kernel.axes(sch, block)
    padding = []
    for axis in axes:
        multiple = 1
        if axis.var.same_as(roles.columns.var):
            multiple = size.columns
        elif roles.rows and axis.var.same_as(roles.rows[-1].var):
            multiple = size.rows
        padding.append(multiple)
    if any(axis.extent % multiple for axis, multiple in zip(axes, padding, strict=True)):
        sch.pad_einsum(block, padding)


def _calls(module: Any) -> dict[Any, list[Any]]:
    """Return the calls of each kernel."""
    from tvm import relax

    calls = defaultdict(list)

    def visit(expression: Any) -> None:
        if _calls_kernel(expression):
            calls[expression.args[0]].append(expression)

    for _, function in module.functions_items():
        if isinstance(function, relax.Function):
            relax.analysis.post_order_visit(function, visit)
    return calls


def _calls_kernel(expression: Any) -> bool:
    from tvm import relax

    return isinstance(expression, relax.Call) and getattr(expression.op, "name", "") == "relax.call_tir"


def _constant_arguments(call: Any) -> set[int]:
    from tvm.ir import Constant

    return {i for i, argument in enumerate(call.args[1]) if isinstance(argument, Constant)}
