"""Fold batch normalization into the convolution before it, with or without a bias.

TVM's own pass folds only convolutions without bias, and leaves the arithmetic on weights to be compiled and run one
operator at a time.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pytest_ngraph.compilers.tvm.rewriting import calls, rewritten


def fold_batch_norm(module: Any) -> Any:
    """Replace every batch norm on constants by a scaled convolution and a shift, or by a scale and a shift."""
    from tvm import relax

    @relax.expr_functor.mutator
    class Fold(relax.PyExprMutator):  # type: ignore[misc]
        def visit_tuple_getitem_(self, item: Any) -> Any:
            item = super().visit_tuple_getitem_(item)
            norm = self._definition(item.tuple_value)
            if item.index != 0 or not calls(norm, "relax.nn.batch_norm"):
                return item
            value, *constants = norm.args
            if not all(_is_constant(constant) for constant in constants) or int(norm.attrs.axis) != 1:
                return item
            scale, shift = _affine(norm.attrs, *(constant.value.numpy() for constant in constants))
            convolution, bias = self._convolution_and_bias(value)
            if convolution is None:
                return self._shifted(relax.op.multiply(value, _per_channel(scale, value)), shift)
            weights = convolution.args[1].value.numpy() * scale[:, None, None, None]
            scaled = relax.Call(convolution.op, [convolution.args[0], relax.const(weights)], convolution.attrs)
            return self._shifted(scaled, shift + bias * scale)

        def _shifted(self, value: Any, shift: Any) -> Any:
            emitted = self.builder_.emit(value)
            return self.builder_.emit(relax.op.add(emitted, _per_channel(shift, emitted)))

        def _definition(self, value: Any) -> Any:
            return self.lookup_binding(value) if isinstance(value, relax.Var) else value

        def _convolution_and_bias(self, value: Any) -> tuple[Any, Any]:
            """Return the convolution on constant weights that makes `value`, and the bias added to it per channel."""
            call, bias = self._definition(value), 0.0
            if calls(call, "relax.add") and _is_constant(call.args[1]) and _is_per_channel(call.args[1]):
                call, bias = self._definition(call.args[0]), call.args[1].value.numpy().reshape(-1)
            is_folded = calls(call, "relax.nn.conv2d") and _is_constant(call.args[1])
            return (call, bias) if is_folded else (None, 0.0)

    return relax.transform.DeadCodeElimination()(rewritten(module, Fold))


def _affine(attributes: Any, gamma: Any, beta: Any, mean: Any, variance: Any) -> tuple[Any, Any]:
    """Return scale and shift per channel: gamma / sqrt(variance + epsilon), and beta - mean * scale."""
    scale = (gamma if attributes.scale else 1.0) / np.sqrt(variance + float(attributes.epsilon))
    shift = (beta if attributes.center else 0.0) - mean * scale
    return scale.astype(variance.dtype), shift.astype(variance.dtype)


def _per_channel(values: Any, like: Any) -> Any:
    """Return a constant that broadcasts over all axes of `like` but the second."""
    from tvm import relax

    # It has as many axes as `like`: around a constant with fewer, ConvertLayout inserts transposes.
    return relax.const(values.reshape(1, -1, *[1] * (int(like.ty.ndim) - 2)).astype(str(like.ty.dtype)))


def _is_per_channel(constant: Any) -> bool:
    shape = [int(n) for n in constant.ty.shape]
    return len(shape) == 4 and shape == [1, shape[1], 1, 1]


def _is_constant(expression: Any) -> bool:
    from tvm.ir import Constant

    return isinstance(expression, Constant)
