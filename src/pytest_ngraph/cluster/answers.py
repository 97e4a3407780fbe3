"""Answers of devices: JSON, as text. A client reads nothing else from them."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from typing import Any

from distributed import Worker

from pytest_ngraph.errors import NgraphError
from pytest_ngraph.wording import visible

PARTS = 5_000_000
"""The most lists and objects in an answer: one of three bytes takes a hundred in memory."""

SHOWN = 10_000
"""The most characters of what a device says that are shown and stored."""


class Unreadable(NgraphError):
    """A device's answer that is not what was asked for."""


def as_text(answer: dict[str, Any]) -> str:
    """Return an answer as it is sent."""
    return json.dumps(answer)


def failure(error: Exception) -> dict[str, str]:
    """Return the answer that an exception is. The exception itself would travel as a pickle."""
    return {"failed": str(error) if isinstance(error, NgraphError) else f"{type(error).__name__}: {error}"}


def read(text: Any) -> dict[str, Any]:
    """Return the answer in a text, with `visible` texts. Raises `Unreadable`."""
    try:
        if not isinstance(text, str):
            raise ValueError(f"it is no text, but {type(text).__name__}")
        if text.count("[") + text.count("{") > PARTS:
            raise ValueError(f"it has more than {PARTS:,} parts")
        answer = visible(json.loads(text))
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"its answer cannot be read: {error}") from None
    if not isinstance(answer, dict):
        raise Unreadable(f"its answer cannot be read: it is a {type(answer).__name__}, not an object")
    return answer


def said(text: Any) -> str:
    """Return a reason that a device gives, which may be anything, and of any length."""
    whole = str(text)
    return whole if len(whole) <= SHOWN else f"{whole[:SHOWN]}..."


async def answer(function: Callable[..., Any], *arguments: Any, dask_worker: Worker) -> str:
    """Call a function on a device, outside of its tasks. Runs on the device.

    Args:
        function: a function or a coroutine function; it gets the worker if it has an argument `dask_worker`.
        arguments: its arguments.
        dask_worker: the engine fills it in.

    Returns:
        `{"answer": result}`, or `{"failed": why}`, as text.
    """
    has_worker = "dask_worker" in inspect.signature(function).parameters
    try:
        result = function(*arguments, **({"dask_worker": dask_worker} if has_worker else {}))
        return as_text({"answer": await result if inspect.isawaitable(result) else result})
    except Exception as error:
        return as_text(failure(error))
