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
    "squeeze.dim": squeeze,
    "squeeze.dims": squeeze,
}
"""Converters by operator, for a program that PyTorch has decomposed."""
CONVERTERS = DECOMPOSED | {
    "_unsafe_view.default": reshape,
    "layer_norm.default": layer_norm,
    "scaled_dot_product_attention.default": attention,
}
"""Converters by operator, for a program of whole operators."""
