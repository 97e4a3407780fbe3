"""Say in one line what code that is not ours raised, and where: a user's function, a module, `torch.export`."""

from __future__ import annotations

import os
import textwrap
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ngraph.errors import UsageError
from pytest_ngraph.system.installed import PACKAGE_FOLDER
from pytest_ngraph.wording import first_line

if TYPE_CHECKING:
    import torch

    from pytest_ngraph.workloads import Built

LISTED = 4
"""How many inputs a message describes."""


class CallError(UsageError):
    """A module raises an error when eager PyTorch calls it with its inputs."""

    def __init__(self, workload: str, built: Built, error: BaseException) -> None:
        given = [f"{name} {_described(x)}" for name, x in zip(built.input_names, built.inputs, strict=True)]
        others = [f"{len(given) - LISTED} more"] if len(given) > LISTED else []
        inputs = ", ".join(given[:LISTED] + others)
        super().__init__(f"{workload}: its module raises {reason(error)}. It was called with {inputs}.")


def _described(tensor: torch.Tensor) -> str:
    size = "x".join(map(str, tensor.shape)) or "scalar"
    return f"({size} {str(tensor.dtype).removeprefix('torch.')})"


def reason(error: BaseException, longest: int = 500) -> str:
    """Return the error in one line, with the last place in code that is neither ours nor PyTorch's.

    Args:
        error: what was raised.
        longest: characters of the error itself. Some contain whole expressions.
    """
    import torch

    libraries = (f"{PACKAGE_FOLDER}{os.sep}", f"{Path(torch.__file__).parent}{os.sep}", "<")
    frames = [f for f in traceback.extract_tb(error.__traceback__) if not f.filename.startswith(libraries)]
    text = textwrap.shorten(f"{type(error).__name__}: {first_line(error)}", longest, placeholder=" ...")
    return text + (f" ({_place(frames[-1])})" if frames else "")


def to_see(function: str, arguments: Mapping[str, object]) -> str:
    """Return how to see the whole traceback of a user's function, given by its import string."""
    module, _, path = function.partition(":")
    given = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
    return f"To see the traceback, run in Python: import {module}; {module}.{path}({given})"


def _place(frame: traceback.FrameSummary) -> str:
    path, here = Path(frame.filename), Path.cwd()
    shown = path.relative_to(here) if path.is_relative_to(here) else Path(*path.parts[-3:])
    return f"{shown}, line {frame.lineno}, in {frame.name}"
