"""Find objects that packages register by name (compilers, families of workloads), and load only those that are used."""

from __future__ import annotations

import importlib
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from pytest_ngraph.errors import UsageError

_everything = cache(entry_points)
"""The entry points of all groups. Cached, because it reads a file of every installed distribution."""


@cache
def registered(group: str) -> dict[str, EntryPoint]:
    """Return the entry points of a group by name, not loaded."""
    return {point.name: point for point in _everything().select(group=group)}


def is_built_in(group: str, name: str) -> bool:
    """Return whether pytest-ngraph itself registers this name."""
    point = registered(group).get(name)
    return point is not None and point.module.partition(".")[0] == __name__.partition(".")[0]


def module_of(group: str, name: str) -> str:
    """Return the module of the object with this name (as in `load`), which is not imported."""
    point = registered(group).get(name)
    return point.module if point is not None else name.partition(":")[0]


@cache
def load(group: str, what: str, name: str) -> Any:
    """Return the object with this name.

    Args:
        group: the group of entry points.
        what: the word for it in an error message (`compiler`).
        name: an entry point of the group, or an import string `package.module:attribute`.

    Raises:
        UsageError: there is no such object, or it cannot be imported.
    """
    point = registered(group).get(name)
    module, colon, attribute = name.partition(":")
    if point is None and not colon:
        raise UsageError.unknown(what, name, registered(group), "Your own: package.module:Class.")
    try:
        return point.load() if point is not None else getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise UsageError(f"{what} {name!r} cannot be imported: {error}.") from error
    except Exception as error:  # importing runs the module, which may raise anything; the name may be invalid
        raise UsageError(f"{what} {name!r} cannot be imported: {type(error).__name__}: {error}.") from error
