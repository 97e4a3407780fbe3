"""The distributions that install the modules of `serve.py`, and what these need: exact versions, and size on disk."""

from __future__ import annotations

import os
import site
import sysconfig
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution, requires, version
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from pytest_ngraph.errors import Unsupported
from pytest_ngraph.system.installed import providers

FILE = "requirements.txt"
NO_EXTRA = ""


def requirements(modules: Iterable[str]) -> str:
    """Return the text of `requirements.txt`.

    Args:
        modules: modules that are imported, each with extras of its distribution or without: `onnxruntime[cuda,cudnn]`.

    Raises:
        Unsupported: a module belongs to no installed distribution.
    """
    needed = [_distribution(module) for module in modules]
    found = distributions(needed)
    own = {canonicalize_name(Requirement(name).name) for name in needed}
    first = [_line(name) for name in sorted(own)]
    rest = [_line(name) for name in sorted(found - own)]
    return "\n".join([*first, *(["# what these need:", *rest] if rest else []), ""])


def install_bytes(modules: Iterable[str]) -> int | None:
    """Return the size of all files of the distributions that `requirements` lists; None where one has no list of them.

    Raises:
        Unsupported: a module belongs to no installed distribution.
    """
    sizes = [_size(name) for name in distributions(_distribution(module) for module in modules)]
    return None if None in sizes else sum(filter(None, sizes))


def elsewhere(modules: Iterable[str]) -> list[str]:
    """Return the folders of these distributions that an isolated interpreter does not look in.

    Such are those of `PYTHONPATH`, as module systems set it, and that of `pip install --user`.

    Raises:
        Unsupported: a module belongs to no installed distribution.
    """
    known = {*site.getsitepackages(), sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    usual = {os.path.realpath(path) for path in known}
    names = sorted(distributions(_distribution(module) for module in modules))
    places = dict.fromkeys(os.path.realpath(str(distribution(name).locate_file(""))) for name in names)
    return [place for place in places if place not in usual]


def distributions(names: Iterable[str]) -> set[str]:
    """Return the normalized names of distributions, and of all that they need, as far as these are installed.

    Args:
        names: names of distributions, each with extras or without.
    """
    found: set[tuple[str, str]] = set()
    waiting = [each for name in names for each in _with_extras(Requirement(name))]
    while waiting:
        name, extra = waiting.pop()
        needed = canonicalize_name(name), extra
        if needed not in found and _is_installed(name):
            found.add(needed)
            waiting += _needed(*needed)
    return {name for name, _ in found}


def _distribution(module: str) -> str:
    name, *extras = module.partition("[")
    names = providers(name)
    if not names:
        raise Unsupported(f"serve.py needs {name}, which no installed package provides. Install it with pip.")
    return "".join([names[0], *extras])


def _line(name: str) -> str:
    installed = Version(version(name))
    note = f"  # {installed} was measured, from another package index" if installed.local else ""
    return f"{name}=={installed.public}{note}"


def _is_installed(name: str) -> bool:
    """Return whether a distribution is installed: another one's metadata may list it, although that runs without it."""
    try:
        version(name)
    except PackageNotFoundError:
        return False
    return True


def _needed(name: str, extra: str) -> Iterator[tuple[str, str]]:
    """Yield what a distribution needs with one of its extras: names, each without an extra and with those asked for."""
    for text in requires(name) or ():
        requirement = Requirement(text)
        if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
            yield from _with_extras(requirement)


def _with_extras(requirement: Requirement) -> Iterator[tuple[str, str]]:
    for asked_for in (NO_EXTRA, *requirement.extras):
        yield requirement.name, asked_for


@cache
def _size(name: str) -> int | None:
    """Return the size of a distribution's files, as its `RECORD` lists them; None where it has none."""
    files = distribution(name).files
    if files is None:
        return None
    places = {str(file.locate()) for file in files}
    return sum(map(_file_size, places))


def _file_size(place: str) -> int:
    try:
        return Path(place).stat().st_size
    except OSError:  # removed since
        return 0
