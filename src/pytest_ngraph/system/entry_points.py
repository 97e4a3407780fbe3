"""Find what others register (compilers, families of workloads) by name, and load only what is used."""

from __future__ import annotations

import importlib
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from pytest_ngraph.errors import UsageError

_everything = cache(entry_points)
"""The entry points of all groups: a file of every installed distribution is read for them, once."""


@cache
def registered(group: str) -> dict[str, EntryPoint]:
    """The entry points of a group by name, not loaded."""
    return {point.name: point for point in _everything().select(group=group)}


def is_built_in(group: str, name: str) -> bool:
    """Whether it is pytest-ngraph itself that registers this name."""
    point = registered(group).get(name)
    return point is not None and point.module.partition(".")[0] == __name__.partition(".")[0]


@cache
def load(group: str, what: str, name: str) -> Any:
    """The object behind `name`: an entry point of the group, or an import string `package.module:attribute`.

    what: the word for it in an error message (`compiler`).
    """
    point = registered(group).get(name)
    module, colon, attribute = name.partition(":")
    if point is None and not colon:
        raise UsageError.unknown(what, name, registered(group), "Your own: package.module:Class.")
    try:
        return point.load() if point is not None else getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise UsageError(f"{what} {name!r} cannot be imported: {error}.") from error
    except Exception as error:  # a module runs when it is imported, and may raise anything; its name may be none
        raise UsageError(f"{what} {name!r} cannot be imported: {type(error).__name__}: {error}.") from error
