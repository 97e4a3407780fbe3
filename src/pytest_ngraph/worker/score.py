"""The user's own score of a model: its outputs in, a number out. Higher is better."""

from __future__ import annotations

import importlib
import math
from collections.abc import Sequence
from typing import Any

from pytest_ngraph.artifact import Array
from pytest_ngraph.errors import UsageError


def check_score(name: object) -> str:
    """Return the name of a function that scores outputs. Raises `UsageError` for what is no import string."""
    module, _, function = name.partition(":") if isinstance(name, str) else ("", "", "")
    if not (isinstance(name, str) and all(part.isidentifier() for part in (*module.split("."), *function.split(".")))):
        raise UsageError(f"score {name!r} is not an import string. Write package.module:function.")
    return name


def score(name: str, outputs: Sequence[Array]) -> float:
    """Return the user's own score of a model's outputs.

    Args:
        name: the function, `package.module:function`. It is called with a list of arrays, floats as fp32.

    Raises:
        UsageError: there is no such function, it raises, or it returns what is not a finite number.
    """
    function = _imported(name)
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


def _imported(name: str) -> Any:
    module_name, _, path = check_score(name).partition(":")
    try:
        found: Any = importlib.import_module(module_name)
    except Exception as error:  # importing runs the user's module
        raise UsageError(
            f"score {name!r}: {module_name} cannot be imported ({type(error).__name__}: {error}). Name a function that "
            "is importable from the folder in which pytest runs: package.module:function."
        ) from error
    for part in path.split("."):
        if not hasattr(found, part):
            functions = [key for key in dir(found) if callable(getattr(found, key)) and not key.startswith("_")]
            raise UsageError.unknown(f"function of {module_name}", path, functions)
        found = getattr(found, part)
    if not callable(found):
        raise UsageError(
            f"score {name!r}: {path} is not callable (type: {type(found).__name__}). Name a function that takes the "
            "outputs and returns a number."
        )
    return found


def _given(outputs: Sequence[Array]) -> str:
    """Return what the function was called with, in words."""
    shapes = ", ".join(f"{array.dtype} {'x'.join(map(str, array.shape)) or 'scalar'}" for array in outputs)
    return f"It is called with a list of the outputs: {shapes}."
