"""Describe a fused kernel as the scheduling rules see it: blocks of loops, each elementwise, a contraction or a fold.

TVM fuses an operator and its neighbours into one function of several *blocks*. A block computes one buffer in a loop
nest of spatial axes (one element each) and reduction axes (summed over). A block is

- *elementwise* without reduction axes: activations, additions, padding, transposes, copies;
- a *contraction* when it adds up products of two buffers: matrix products and convolutions;
- a *fold* when it reduces in any other way: sums, maxima, pooling.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

SPATIAL, REDUCTION = 0, 2


@dataclass(frozen=True, slots=True)
class Axis:
    """One loop of an unscheduled block, and the variable by which the block indexes its buffers."""

    loop: Any
    var: Any
    extent: int
    is_reduction: bool


def blocks(sch: Any) -> list[Any]:
    """Return the kernel's blocks in the order in which they run; none for one that TVM wrote as loops, as of a scatter.

    Such a kernel is one block, with a name of its own.
    """
    whole = sch.mod["main"].body.block
    return list(sch.get_child_blocks(sch.get_sblock(whole.name_hint)))


def axes(sch: Any, block: Any) -> list[Axis]:
    """Return the loops of an unscheduled block, outermost first, one for each of its variables."""
    variables = sch.get(block).iter_vars
    loops = sch.get_loops(block)
    return [
        Axis(loop, v.var, int(v.dom.extent), int(v.iter_type) == REDUCTION)
        for loop, v in zip(loops, variables, strict=True)
    ]


def is_elementwise(sch: Any, block: Any) -> bool:
    return all(int(v.iter_type) == SPATIAL for v in sch.get(block).iter_vars)


def is_contraction(sch: Any, block: Any) -> bool:
    return not is_elementwise(sch, block) and operands(sch, block) is not None


def operands(sch: Any, block: Any) -> tuple[Any, Any] | None:
    """Return the two loads whose products the block adds up; None when it does something else."""
    from tvm import tirx

    body = sch.get(block).body
    if not isinstance(body, tirx.BufferStore) or not isinstance(body.value, tirx.Add):
        return None
    product = body.value.b
    if not isinstance(product, tirx.Mul) or not all(is_load(factor) for factor in (product.a, product.b)):
        return None
    left, right = product.a, product.b
    return None if left.source.same_as(right.source) else (left, right)


def is_load(expression: Any) -> bool:
    from tvm.ir import TensorLoad

    return isinstance(expression, TensorLoad)


def uses(expression: Any, variable: Any) -> bool:
    """Return whether `variable` occurs in `expression`."""
    from tvm.tirx.analysis import undefined_vars

    return any(variable.same_as(found) for found in undefined_vars(expression))


def indexes(axis: Axis, load: Any) -> bool:
    """Return whether the axis occurs in an index of the load."""
    return any(uses(index, axis.var) for index in load.indices)


def shape(sch: Any, block: Any) -> list[int]:
    """Return the extents of the block's spatial axes, also after its loops were split."""
    return [int(v.dom.extent) for v in sch.get(block).iter_vars if int(v.iter_type) == SPATIAL]


def iterations(sch: Any, block: Any) -> int:
    """Return how often the block's statement runs."""
    return prod(int(v.dom.extent) for v in sch.get(block).iter_vars)


def extent(sch: Any, loop: Any) -> int:
    return int(sch.get(loop).extent)


def is_output(sch: Any, block: Any) -> bool:
    """Return whether the block writes the kernel's result."""
    return not sch.get_consumers(block)


def is_plain(sch: Any, block: Any) -> bool:
    """Return whether the block has loops that no rule has scheduled."""
    from tvm.tirx import ForKind

    loops = sch.get_loops(block)
    return bool(loops) and all(sch.get(loop).kind == ForKind.SERIAL for loop in loops)
