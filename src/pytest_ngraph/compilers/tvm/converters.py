"""Convert single PyTorch operators to Relax, where the converters of TVM's importer are missing or fail."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any


def reshape(node: Any, importer: Any) -> Any:
    """Convert `_unsafe_view`, which the importer does not know."""
    from tvm import relax

    value, shape = importer.retrieve_args(node)
    return importer.block_builder.emit(relax.op.reshape(value, shape))


def squeeze(node: Any, importer: Any) -> Any:
    """Convert `squeeze`, its axes made non-negative: ConvertLayout runs out of memory on a negative axis."""
    from tvm import relax

    value, given = importer.retrieve_args(node)
    axes = [axis % int(value.ty.ndim) for axis in (given if isinstance(given, list | tuple) else [given])]
    ones = [axis for axis in axes if int(value.ty.shape[axis]) == 1]
    return importer.block_builder.emit(relax.op.squeeze(value, ones)) if ones else value


def layer_norm(node: Any, importer: Any) -> Any:
    """Convert `layer_norm`, also without scale and shift, which the importer requires.

    Over several axes it becomes one over a single axis: ConvertLayout moves the axes of the tensor, but not those of
    its scale.
    """
    import numpy as np
    from tvm import relax

    value, given, *rest = importer.retrieve_args(node)
    scale, shift, epsilon = (*rest, *(None, None, 1e-5)[len(rest) :])[:3]
    emit = importer.block_builder.emit
    shape, normalized = [int(size) for size in value.ty.shape], [int(size) for size in given]
    ones = np.ones([math.prod(normalized)], str(value.ty.dtype))

    is_flat = len(normalized) == 1

    def flat(parameter: Any, default: Any) -> Any:
        if parameter is None:
            return relax.const(default)
        return parameter if is_flat else emit(relax.op.reshape(parameter, ones.shape))

    rows = value if is_flat else emit(relax.op.reshape(value, [*shape[: -len(normalized)], ones.size]))
    axis = len(shape) - len(normalized)
    found = emit(relax.op.nn.layer_norm(rows, flat(scale, ones), flat(shift, 0 * ones), axes=[axis], epsilon=epsilon))
    return found if is_flat else emit(relax.op.reshape(found, shape))


def group_norm(node: Any, importer: Any) -> Any:
    """Convert `group_norm`, also without scale or shift, which the importer requires."""
    import numpy as np
    from tvm import relax

    value, groups, *rest = importer.retrieve_args(node)
    scale, shift, epsilon = (*rest, *(None, None, 1e-5)[len(rest) :])[:3]
    ones = np.ones([int(value.ty.shape[1])], str(value.ty.dtype))
    return importer.block_builder.emit(
        relax.op.nn.group_norm(
            value,
            relax.const(ones) if scale is None else scale,
            relax.const(0 * ones) if shift is None else shift,
            num_groups=groups,
            channel_axis=1,
            axes=list(range(2, int(value.ty.ndim))),
            epsilon=epsilon,
        )
    )


def divide(node: Any, importer: Any) -> Any:
    """Convert division, with or without rounding. The importer divides integers as such, and does not mix types."""
    from tvm import relax

    operands, mode = importer.retrieve_args(node)[:2], (*node.args[2:], node.kwargs.get("rounding_mode"))[0]
    types = [str(operand.ty.dtype) for operand in operands if hasattr(operand, "ty")]
    floats = [each for each in types if "float" in each]
    if floats or mode is None or any(isinstance(operand, float) for operand in operands):
        kind = floats[0] if floats else "float32"
        operation, rounding = relax.op.divide, {"floor": relax.op.floor, "trunc": relax.op.trunc}.get(mode)
    else:
        kind = types[0]
        operation, rounding = relax.op.floor_divide if mode == "floor" else relax.op.divide, None
    emit = importer.block_builder.emit
    found = emit(operation(*(_typed(operand, kind, importer) for operand in operands)))
    return emit(rounding(found)) if rounding else found


def _typed(operand: Any, kind: str, importer: Any) -> Any:
    """Return a tensor or a number as a tensor of a type."""
    from tvm import relax

    if not hasattr(operand, "ty"):
        return relax.const(operand, kind)
    return operand if str(operand.ty.dtype) == kind else importer.block_builder.emit(relax.op.astype(operand, kind))


def amax(node: Any, importer: Any) -> Any:
    """Convert `amax`, which the importer does not know."""
    from tvm import relax

    return _reduced(relax.op.max, node, importer)


def amin(node: Any, importer: Any) -> Any:
    """Convert `amin`, which the importer does not know."""
    from tvm import relax

    return _reduced(relax.op.min, node, importer)


def _reduced(reduce: Callable[..., Any], node: Any, importer: Any) -> Any:
    options = dict(zip(("value", "axes", "keepdim"), importer.retrieve_args(node), strict=False)) | node.kwargs
    value = options["value"]
    axes = [axis % int(value.ty.ndim) for axis in options.get("axes", ())]
    return importer.block_builder.emit(reduce(value, axes or None, options.get("keepdim", False)))


def select(node: Any, importer: Any) -> Any:
    """Convert `select`, such as `x[:, -1]`: the importer reads before the array for a negative index."""
    from tvm import relax

    value, axis, place = importer.retrieve_args(node)
    place %= int(value.ty.shape[axis % int(value.ty.ndim)])
    return importer.block_builder.emit(relax.op.take(value, relax.const(place, "int64"), axis))


def index(node: Any, importer: Any) -> Any:
    """Convert indexing by integer tensors as NumPy defines it. The importer converts Booleans.

    The importer reads before the array for negative indices, takes `x[:, i, j]` for all pairs of `i` and `j`, and
    cannot broadcast what is not of one shape.
    """
    from tvm import relax

    value, given = importer.retrieve_args(node)
    emit = importer.block_builder.emit
    indices = {axis: each for axis, each in enumerate(given) if each is not None}
    if any(str(each.ty.dtype) == "bool" for each in indices.values()):
        return importer._index_tensor(node)
    axes, first = [*indices], min(indices)
    if axes != list(range(first, first + len(axes))):  # apart from each other: what they select comes first
        others = [axis for axis in range(int(value.ty.ndim)) if axis not in indices]
        value, first = emit(relax.op.permute_dims(value, [*axes, *others])), 0
    shape, last = [int(size) for size in value.ty.shape], first + len(axes)
    place: Any = relax.const(0, "int64")  # in the indexed axes made one
    sizes = [relax.const(size, "int64") for size in shape[first:last]]
    for size, each in zip(sizes, indices.values(), strict=True):
        place = emit(relax.op.add(emit(relax.op.multiply(place, size)), _from_the_start(each, size, importer)))
    rows = emit(relax.op.reshape(value, [*shape[:first], math.prod(shape[first:last]), *shape[last:]]))
    return emit(relax.op.take(rows, place, axis=first))


def _from_the_start(places: Any, size: Any, importer: Any) -> Any:
    """Return places along an axis as int64, counted from its start also where they are negative."""
    from tvm import relax

    emit, places = importer.block_builder.emit, _typed(places, "int64", importer)
    is_negative = emit(relax.op.less(places, relax.const(0, "int64")))
    return emit(relax.op.where(is_negative, emit(relax.op.add(places, size)), places))


def unfold(node: Any, importer: Any) -> Any:
    """Convert `Tensor.unfold`, windows along an axis, which the importer does not know."""
    import numpy as np
    from tvm import relax

    value, axis, size, step = importer.retrieve_args(node)
    emit, dimensions = importer.block_builder.emit, int(value.ty.ndim)
    axis %= dimensions
    begins = np.arange(0, int(value.ty.shape[axis]) - size + 1, step)
    windows = emit(relax.op.take(value, relax.const(begins[:, None] + np.arange(size), "int64"), axis=axis))
    order = [each for each in range(dimensions + 1) if each != axis + 1]
    return emit(relax.op.permute_dims(windows, [*order, axis + 1]))


def attention(node: Any, importer: Any) -> Any:
    """Convert attention, softmax(scale * Q K^T + mask) V, to separate operators.

    The tensors have shape (..., sequence, features). The importer's own `relax.nn.attention` becomes one kernel, which
    no rule schedules.
    """
    from tvm import relax

    names = ("query", "key", "value", "attn_mask", "dropout_p", "is_causal")
    options = dict(zip(names, importer.retrieve_args(node), strict=False))
    options |= {name: importer.env.get(value, value) for name, value in node.kwargs.items()}
    query, key, value = (options[name] for name in names[:3])
    mask = options.get("attn_mask")
    if options.get("is_causal") or options.get("enable_gqa") or (mask is not None and mask.ty.dtype != query.ty.dtype):
        raise NotImplementedError(f"{node.name} with {options}")
    *batch, row, column = range(int(key.ty.ndim))
    scale = options.get("scale") or int(query.ty.shape[-1]) ** -0.5
    emit = importer.block_builder.emit
    scaled = emit(relax.op.multiply(query, relax.const(scale, query.ty.dtype)))
    scores = emit(relax.op.matmul(scaled, emit(relax.op.permute_dims(key, [*batch, column, row]))))
    if mask is not None:
        scores = emit(relax.op.add(scores, mask))
    return emit(relax.op.matmul(emit(relax.op.nn.softmax(scores, axis=-1)), value))


DECOMPOSED: dict[str, Callable[[Any, Any], Any]] = {
    "amax.default": amax,
    "amin.default": amin,
    "div.Tensor": divide,
    "div.Tensor_mode": divide,
    "index.Tensor": index,
    "select.int": select,
    "squeeze.dim": squeeze,
    "squeeze.dims": squeeze,
    "unfold.default": unfold,
}
"""Converters by operator, for a program that PyTorch has decomposed."""
CONVERTERS = DECOMPOSED | {
    "_unsafe_view.default": reshape,
    "group_norm.default": group_norm,
    "layer_norm.default": layer_norm,
    "scaled_dot_product_attention.default": attention,
}
"""Converters by operator, for a program of whole operators."""
