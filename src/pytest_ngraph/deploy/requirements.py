"""Write `requirements.txt`: what the modules of `serve.py` are installed by, and what that needs, in exact versions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib.metadata import PackageNotFoundError, requires, version

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from pytest_ngraph.errors import UsageError
from pytest_ngraph.system.installed import packages_distributions

FILE = "requirements.txt"


def requirements(modules: Iterable[str]) -> str:
    """Return the text of `requirements.txt`.

    Args:
        modules: modules that are imported.

    Raises:
        UsageError: a module belongs to no installed distribution.
    """
    needed = [_distribution(module) for module in modules]
    found: dict[str, str] = {}
    for name in needed:
        _collect(name, found)
    own = {canonicalize_name(name) for name in needed}
    first = [found[name] for name in sorted(own)]
    rest = [found[name] for name in sorted(found.keys() - own)]
    return "\n".join([*first, *(["# what these need:", *rest] if rest else []), ""])


def _distribution(module: str) -> str:
    names = packages_distributions().get(module, [])
    if not names:
        raise UsageError(f"serve.py needs {module}, which no installed package provides. Install it with pip.")
    return names[0]


def _collect(name: str, found: dict[str, str]) -> None:
    """Add the line of a distribution, and those of what it needs here."""
    if canonicalize_name(name) in found:
        return
    try:
        installed = Version(version(name))
    except PackageNotFoundError:  # needed by the metadata of another, which runs without it
        return
    note = f"  # {installed} was measured, from another package index" if installed.local else ""
    found[canonicalize_name(name)] = f"{name}=={installed.public}{note}"
    for each in _needed(name):
        _collect(each, found)


def _needed(name: str) -> Iterator[str]:
    for text in requires(name) or ():
        requirement = Requirement(text)
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
            yield requirement.name
