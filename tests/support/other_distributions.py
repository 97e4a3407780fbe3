"""An environment in which other distributions have the module `onnxruntime`."""

from __future__ import annotations

from collections.abc import Callable
from importlib import metadata

import pytest

from pytest_ngraph.system import installed

Distributed = Callable[[dict[str, str]], None]


def pretend(monkeypatch: pytest.MonkeyPatch) -> Distributed:
    """Return a function that takes the distributions, with their versions, that are to have the module."""
    by_module, number = installed.packages_distributions(), metadata.version

    def have(distributions: dict[str, str]) -> None:
        modules = {**by_module, "onnxruntime": [*distributions]}
        monkeypatch.setattr(installed, "packages_distributions", lambda: modules)
        monkeypatch.setattr(installed, "version", lambda name: distributions.get(name) or number(name))

    return have
