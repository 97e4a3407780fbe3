"""Rewrite the expressions of a Relax module."""

from __future__ import annotations

from typing import Any


def rewritten(module: Any, mutator: Any) -> Any:
    """Return the module with each Relax function as a mutator makes it.

    Args:
        module: an `IRModule`.
        mutator: a class that `relax.expr_functor.mutator` made.
    """
    from tvm import relax

    rewriting = mutator(module)
    for variable, function in module.functions_items():
        if isinstance(function, relax.Function):
            rewriting.builder_.update_func(variable, rewriting.visit_expr(function))
    return rewriting.builder_.get()


def calls(expression: Any, operator: str) -> bool:
    """Return whether an expression is a call of an operator."""
    from tvm import relax

    return isinstance(expression, relax.Call) and getattr(expression.op, "name", "") == operator
