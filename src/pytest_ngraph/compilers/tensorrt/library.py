"""TensorRT's own ways: failures come back as None or False, and the reason stands in a log that is set once."""

from __future__ import annotations

import importlib
from functools import cache
from typing import Any, TypeVar

from pytest_ngraph.errors import NgraphError, Unsupported

T = TypeVar("T")


class Library:
    """TensorRT or TensorRT-RTX: its module, and the warnings and errors that it has logged."""

    def __init__(self, name: str) -> None:
        """name: the module's. Raise `Unsupported` when it is there and cannot be imported."""
        try:
            self.module: Any = importlib.import_module(name)
        except (ImportError, OSError) as error:  # what it loads are NVIDIA's shared libraries
            raise Unsupported(f"{name} cannot be imported: {error}") from None
        self.name = name
        self.messages: list[str] = []
        self.logger = self._logger()

    @property
    def version(self) -> str:
        return str(self.module.__version__)

    def require(self, result: T | None, step: str) -> T:
        """The result; raise `NgraphError` with what was logged when it says that the step failed."""
        if result is None or result is False:
            raise NgraphError(f"{self.name} {self.version} could not {step}: {self.take_messages()}")
        return result

    def take_messages(self) -> str:
        """What was logged since the last time, in one line."""
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
    """The one of this process: TensorRT ignores every logger but the first that it is given."""
    return Library(name)
