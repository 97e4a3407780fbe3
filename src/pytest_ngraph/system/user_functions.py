"""Functions of the user that are given by their import strings, `package.module:function`."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from typing import Any

from pytest_ngraph.errors import UsageError
from pytest_ngraph.wording import first_line

NOT_FOUND = "It must be importable from the folder in which pytest runs: pip install -e ., or ini key pythonpath = src."


def is_import_string(text: str) -> bool:
    """Return whether a text names a module and something in it."""
    module, _, path = text.partition(":")
    return all(part.isidentifier() for part in (*module.split("."), *path.split(".")))


def check_score(name: object) -> str:
    """Return the name of a function that scores outputs. Raises `UsageError` for what is no import string."""
    if not (isinstance(name, str) and is_import_string(name)):
        raise UsageError(f"score {name!r} is not an import string. Write package.module:function.")
    return name


def check_found(text: str, what: str) -> None:
    """Raise `UsageError` if there is no package or module of an import string's first name. Imports nothing.

    Args:
        what: as of `user_function`.
    """
    name = text.replace(":", ".").partition(".")[0]
    if importlib.util.find_spec(name) is None:
        raise UsageError(f"{what} {text!r}: there is no package or module {name}. {NOT_FOUND}")


def user_function(text: str, what: str, task: str) -> Callable[..., Any]:
    """Import a function of the user.

    Args:
        text: its import string.
        what: what it is for, in messages: `workload`.
        task: what such a function does: `returns a torch.nn.Module`.

    Raises:
        UsageError: there is no such function, or importing its module fails.
    """
    module_name, _, path = text.partition(":")
    try:
        found: Any = importlib.import_module(module_name)
    except Exception as error:  # importing runs the user's module, which may raise anything
        is_missing = isinstance(error, ModuleNotFoundError) and f"{module_name}.".startswith(f"{error.name}.")
        hint = NOT_FOUND if is_missing else "Its code raises this."
        raise UsageError(
            f"{what} {text!r}: {module_name} cannot be imported ({type(error).__name__}: {first_line(error)}). {hint}"
        ) from error
    for name in path.split("."):
        if not hasattr(found, name):
            functions = [key for key in dir(found) if callable(getattr(found, key)) and not key.startswith("_")]
            raise UsageError.unknown(f"function of {module_name}", path, functions)
        found = getattr(found, name)
    if not callable(found):
        raise UsageError(
            f"{what} {text!r}: {path} is not callable (type: {type(found).__name__}). Name a function that {task}."
        )
    function: Callable[..., Any] = found
    return function
