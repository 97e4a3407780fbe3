"""Convert single PyTorch operators to Relax, where the converters of TVM's importer are missing or fail."""

from __future__ import annotations

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
    """Convert `layer_norm`, also without scale and shift, which the importer requires."""
    import numpy as np
    from tvm import relax

    value, shape, *rest = importer.retrieve_args(node)
    scale, shift, epsilon = (*rest, *(None, None, 1e-5)[len(rest) :])[:3]
    axes = list(range(int(value.ty.ndim) - len(shape), int(value.ty.ndim)))
    ones = np.ones([int(n) for n in shape], str(value.ty.dtype))
    return importer.block_builder.emit(
        relax.op.nn.layer_norm(
            value,
            relax.const(ones) if scale is None else scale,
            relax.const(ones * 0) if shift is None else shift,
            axes=axes,
            epsilon=epsilon,
        )
    )


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


DECOMPOSED: dict[str, Callable[[Any, Any], Any]] = {"squeeze.dim": squeeze, "squeeze.dims": squeeze}
"""Converters by operator, for a program that PyTorch has decomposed."""
CONVERTERS = DECOMPOSED | {
    "_unsafe_view.default": reshape,
    "layer_norm.default": layer_norm,
    "scaled_dot_product_attention.default": attention,
}
"""Converters by operator, for a program of whole operators."""
