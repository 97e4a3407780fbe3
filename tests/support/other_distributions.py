"""An environment in which other distributions have the module `onnxruntime`."""

from __future__ import annotations

from collections.abc import Callable
from importlib import metadata

import pytest

from pytest_ngraph.system import installed

Distributed = Callable[[dict[str, str]], None]


def pretend(monkeypatch: pytest.MonkeyPatch) -> Distributed:
    """Return a function that takes the distributions, with their versions, that are to have the module."""
    actual, number = installed.providers, metadata.version

    def have(distributions: dict[str, str]) -> None:
        def providers(module: str) -> list[str]:
            return [*distributions] if module == "onnxruntime" else actual(module)

        monkeypatch.setattr(installed, "providers", providers)
        monkeypatch.setattr(installed, "version", lambda name: distributions.get(name) or number(name))

    return have
