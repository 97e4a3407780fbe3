"""Functions that `torch.compile` compiled as often as it may, so that eager PyTorch runs them. Only its log says so."""

from __future__ import annotations

import logging
import re
from functools import cache
from pathlib import Path
from types import CodeType

LOGGER = "torch._dynamo.convert_frame"
STOPPED = re.compile(r"hit config\.\w+ \(\d+\)\s+function: (?P<function>'.*' \(.*:\d+\))$", re.MULTILINE)


class Stopped(logging.Handler):
    """Notes the functions, as `torch.compile` names them, in the order in which it stopped."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.functions: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if found := STOPPED.search(record.getMessage()):
            self.functions.append(found["function"])


@cache
def stopped() -> Stopped:
    """Return what notes them from the first call on, for the life of the process."""
    noting = Stopped()
    logging.getLogger(LOGGER).addHandler(noting)
    return noting


def named(code: CodeType | None) -> str:
    """Return a function as `torch.compile` names it: `'forward' (/home/me/nets.py:12)`; empty for None."""
    return f"'{code.co_name}' ({code.co_filename}:{code.co_firstlineno})" if code else ""


def shown(function: str) -> str:
    """Return the name of a function with its file's name alone: `'forward' (nets.py:12)`."""
    name, _, place = function.partition(" (")
    return f"{name} ({Path(place).name}"
