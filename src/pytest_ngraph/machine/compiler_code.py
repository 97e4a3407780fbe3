"""The code of a compiler and of what it works with, as a part of what its results follow from."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Sequence
from functools import cache
from importlib.metadata import packages_distributions, version
from pathlib import Path

from pytest_ngraph import compilers
from pytest_ngraph.system.installed import LIBRARIES, PACKAGE_FOLDER

BUILT_IN = PACKAGE_FOLDER / "compilers"


def source_digest(compiler: str) -> str:
    """Hash of the compiler's own code, and of the versions of those of its libraries that are not among
    `installed.LIBRARIES`; empty for one that is in no file."""
    return combined(code(compiler), versions(libraries(compiler)))


def combined(code: str, versions: Sequence[str]) -> str:
    """The hash of both, which may be of two machines: the code travels, the libraries are those where it runs."""
    return hashlib.sha256("\n".join([code, *versions]).encode()).hexdigest()[:16] if code else ""


def libraries(compiler: str) -> tuple[str, ...]:
    """What the compiler declares to work with; nothing for a built-in one, whose libraries every result follows from
    anyway."""
    found = compilers.resolve(compiler)
    return () if _is_built_in(type(found).__module__) else tuple(getattr(found, "libraries", ()))


def code(compiler: str) -> str:
    """Hash of the compiler's module and those beside it in its package; of all in the package that it is in itself, or
    that the built-in ones share. Empty for one that is in no file."""
    return _code(type(compilers.resolve(compiler)))


@cache
def versions(libraries: tuple[str, ...]) -> list[str]:
    """What installed these libraries, with versions, but for the distributions that every result follows from."""
    if not libraries:  # which saves half a second: a file of every distribution is read to find out
        return []
    installed = packages_distributions()
    modules = {library.partition(".")[0] for library in libraries}
    names = sorted({name for module in modules for name in installed.get(module, ())} - set(LIBRARIES))
    return [f"{name} {version(name)}" for name in names]


@cache
def _code(kind: type) -> str:
    # Not `inspect.getfile`: TVM puts one of its own there, which fails for modules that were imported anew.
    told = getattr(sys.modules.get(kind.__module__), "__file__", None)
    if told is None:
        return ""
    digest = hashlib.sha256()
    for path in _files(kind.__module__, Path(told)):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _is_built_in(module: str) -> bool:
    return module.startswith(f"{compilers.__name__}.")


def _files(module: str, file: Path) -> list[Path]:
    if _is_built_in(module):
        return sorted(BUILT_IN.rglob("*.py"))
    if file.name == "__init__.py":
        return sorted(file.parent.rglob("*.py"))
    return sorted(file.parent.glob("*.py")) if "." in module else [file]
