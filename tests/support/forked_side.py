"""What the server of `forking.py` imports, and how its workers become like those that their benches would start."""

from __future__ import annotations

import importlib
import os
import sys
import tempfile
from typing import Any, ClassVar

from pytest_ngraph import workloads
from pytest_ngraph.machine import source_files
from pytest_ngraph.system import entry_points

fork_server: Any = sys.modules["__main__"]
fork = fork_server._forked
environment: dict[str, str] = {}
DEPENDENT: tuple[Any, ...] = (
    *(entry_points._everything, entry_points.registered, entry_points.load, workloads.family),
    *(source_files._foreign, source_files._is_foreign_code),
)
"""Caches of what depends on where a worker imports from, and on its temporary folder."""


class Imports:
    """Declares, as a compiler does, what is to be imported."""

    libraries: ClassVar = ("torch", "torch.export", "torch._dynamo", "torch.onnx", "onnxscript")
    kinds: ClassVar = ("cpu",)

    def compile(self, *_: object) -> None: ...

    def load(self, *_: object) -> None: ...


def forked(given: dict[str, str], streams: list[int]) -> dict[str, Any] | None:
    """Fork a worker; a request without streams says with which environment the next one starts."""
    if not streams:
        environment.clear()
        environment.update(given)
        return {"pid": 0}
    answer: dict[str, Any] | None = fork(given, streams)
    if answer is None:
        os.environ.clear()
        os.environ.update(environment | given)
        os.chdir(environment["PWD"])
        tempfile.tempdir = None
        del sys.modules[__name__]  # which is no code of the user's
        importlib.invalidate_caches()
        for cached in DEPENDENT:
            cached.cache_clear()
    return answer


fork_server._forked = forked
