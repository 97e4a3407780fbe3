"""Compute transcendental functions by polynomials, in vectors. LLVM would call the C library for each element."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_ngraph.compilers.tvm.rewriting import rewritten

if TYPE_CHECKING:
    from collections.abc import Callable


def fast_math(module: Any) -> Any:
    """Replace exp, erf, tanh and functions of them, in fp32, by polynomials with relative errors of about 1e-7."""
    from tvm import relax

    functions = _functions()

    @relax.expr_functor.mutator
    class FastMath(relax.PyExprMutator):  # type: ignore[misc]
        def visit_call_(self, call: Any) -> Any:
            call = super().visit_call_(call)
            operator = getattr(call.op, "name", "")
            if operator not in functions or call.args[0].ty.dtype != "float32":
                return call
            axis = [int(call.attrs.axis)] if operator == "relax.nn.softmax" else []
            name = operator.rpartition(".")[2]
            return self.builder_.call_te(functions[operator], call.args[0], *axis, primfunc_name_hint=name)

    return rewritten(module, FastMath)


def _functions() -> dict[str, Callable[..., Any]]:
    """Return the tensor expressions, by the operator that they compute."""
    from tvm import topi

    return {
        "relax.exp": topi.fast_exp,
        "relax.erf": topi.fast_erf,
        "relax.tanh": topi.fast_tanh,
        "relax.sigmoid": _sigmoid,
        "relax.nn.softmax": topi.nn.fast_softmax,
        "relax.nn.silu": _silu,
        "relax.nn.gelu": _gelu,
    }


def _sigmoid(x: Any) -> Any:
    from tvm import topi

    return 1.0 / (1.0 + topi.fast_exp(topi.negative(x)))


def _silu(x: Any) -> Any:
    return x * _sigmoid(x)


def _gelu(x: Any) -> Any:
    """Return 0.5 x (1 + erf(x / sqrt 2))."""
    from tvm import topi

    half = x * 0.5
    return half + half * topi.fast_erf(x * 0.5**0.5)
