"""The user's own score of a model: its outputs in, a number out. Higher is better."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pytest_ngraph.artifact import Array
from pytest_ngraph.errors import UsageError
from pytest_ngraph.system.user_functions import check_score, user_function


def score(name: str, outputs: Sequence[Array]) -> float:
    """Return the user's own score of a model's outputs.

    Args:
        name: the function, `package.module:function`. It is called with a list of arrays, floats as fp32.

    Raises:
        UsageError: there is no such function, it raises, or it returns what is not a finite number.
    """
    function = user_function(check_score(name), "score", "takes the outputs and returns a number")
    try:
        returned = function(list(outputs))
    except Exception as error:  # the user's code may raise anything
        raise UsageError(f"score {name} raised {type(error).__name__}: {error}. {_given(outputs)}") from error
    try:
        found = float(returned)
    except (TypeError, ValueError):
        found = math.nan
    if not math.isfinite(found):
        shown = f"{type(returned).__name__} {returned!r}"[:200]
        raise UsageError(f"score {name} returned {shown}. Return a finite number; higher is better.")
    return found


def _given(outputs: Sequence[Array]) -> str:
    """Return what the function was called with, in words."""
    shapes = ", ".join(f"{array.dtype} {'x'.join(map(str, array.shape)) or 'scalar'}" for array in outputs)
    return f"It is called with a list of the outputs: {shapes}."
