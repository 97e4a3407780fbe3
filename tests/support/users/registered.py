"""A model with an operator whose module is imported by a name that no `import` statement has."""

from __future__ import annotations

import importlib
from typing import Any

OPERATORS = ("twice",)


def build(batch_size: int) -> Any:
    (registered,) = map(importlib.import_module, OPERATORS)
    return registered.build(batch_size)
