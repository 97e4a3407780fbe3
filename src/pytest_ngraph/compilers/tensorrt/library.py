"""Load TensorRT and explain its failures: it returns None or False, and writes the reason to a log that is set once."""

from __future__ import annotations

import importlib
from functools import cache
from typing import Any, TypeVar

from pytest_ngraph.errors import NgraphError, Unsupported

T = TypeVar("T")


class Library:
    """TensorRT or TensorRT-RTX, with the warnings and errors that it has logged.

    Attributes:
        module: the Python module of the library.
        name: the module's name.
        messages: what was logged since `take_messages` was last called.
        logger: passed to TensorRT; fills `messages`.
    """

    def __init__(self, name: str) -> None:
        """Import the module `name`. Raises `Unsupported` where it cannot be imported."""
        try:
            self.module: Any = importlib.import_module(name)
        except (ImportError, OSError) as error:  # OSError: one of NVIDIA's shared libraries cannot be loaded
            raise Unsupported(f"{name} cannot be imported: {error}") from None
        self.name = name
        self.messages: list[str] = []
        self.logger = self._logger()

    @property
    def version(self) -> str:
        return str(self.module.__version__)

    def require(self, result: T | None, step: str) -> T:
        """Return the result. Raises `NgraphError` with the logged messages where the result is None or False."""
        if result is None or result is False:
            raise NgraphError(f"{self.name} {self.version} could not {step}: {self.take_messages()}")
        return result

    def take_messages(self) -> str:
        """Return what was logged since the last call, in one line, and forget it."""
        text = "; ".join(dict.fromkeys(self.messages))
        self.messages.clear()
        return text or "it logged no reason"

    def _logger(self) -> Any:
        module, messages = self.module, self.messages
        worst = module.ILogger.WARNING

        class Collector(module.ILogger):  # type: ignore[misc, name-defined]
            def log(self, severity: Any, message: str) -> None:
                if severity.value <= worst.value:
                    messages.append(" ".join(message.split()))

        return Collector()


@cache
def library(name: str) -> Library:
    """Return the one instance of this process: TensorRT ignores every logger after the first."""
    return Library(name)
