"""A pytest plugin that forks no worker: each launch is a process that imports its libraries itself."""

from __future__ import annotations

from typing import Any


def pytest_configure() -> None:
    """Refuse every fork server."""
    from pytest_ngraph.bench.processes.forked import ForkServer, Refused

    def refuse(*_: Any) -> None:
        raise Refused("launches start by themselves")

    ForkServer.__init__ = refuse  # type: ignore[method-assign,assignment]
