"""The code of a compiler and of its libraries, as a part of what its results depend on."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Sequence
from functools import cache
from importlib.metadata import version
from pathlib import Path

from pytest_ngraph import compilers
from pytest_ngraph.case import CompilerSpec
from pytest_ngraph.compilers.registry import GROUP
from pytest_ngraph.machine.imported_files import imported_files
from pytest_ngraph.machine.source_files import digests
from pytest_ngraph.system import entry_points
from pytest_ngraph.system.installed import LIBRARIES, PACKAGE_FOLDER, providers

BUILT_IN = PACKAGE_FOLDER / "compilers"


def source_digest(compiler: str) -> str:
    """Return the hash of the compiler's own code and of the versions of its libraries.

    Libraries in `installed.LIBRARIES` are left out. Empty for a compiler that was not loaded from a file.
    """
    return combined(code(compiler), versions(libraries(compiler)))


def combined(code: str, versions: Sequence[str]) -> str:
    """Return the hash of both. In a cluster, the code is the client's and the libraries are the device's."""
    return hashlib.sha256("\n".join([code, *versions]).encode()).hexdigest()[:16] if code else ""


def libraries(compiler: str) -> tuple[str, ...]:
    """Return the libraries that the compiler declares.

    Empty for a built-in compiler: every result depends on its libraries anyway.
    """
    found = compilers.resolve(compiler)
    return () if _is_built_in(type(found).__module__) else tuple(getattr(found, "libraries", ()))


def code(compiler: str) -> str:
    """Return the hash of the compiler's module and of the modules beside it in its package.

    For a compiler defined in a package's `__init__.py`, of all modules below that package; for a built-in one, of all
    built-in compilers. Empty for a compiler that was not loaded from a file.
    """
    return _code(type(compilers.resolve(compiler)))


def is_built_in(compiler: str) -> bool:
    """Return whether a compiler is one of this package's. It need not be importable."""
    return entry_points.is_built_in(GROUP, CompilerSpec.parse(compiler).name)


def files(compiler: str) -> dict[str, str]:
    """Return the digests, by path, of the user's own files that make up a compiler, which is not imported.

    They are its module, and the modules that this one imports. Empty for a built-in compiler, one of a library, and one
    that does not exist.
    """
    if is_built_in(compiler):
        return {}
    module = entry_points.module_of(GROUP, CompilerSpec.parse(compiler).name)
    return digests(sorted(imported_files(module)))


@cache
def versions(libraries: tuple[str, ...]) -> list[str]:
    """Return the distributions of these libraries, with versions, except those that every result depends on."""
    modules = {library.partition(".")[0] for library in libraries}
    names = sorted({name for module in modules for name in providers(module)} - set(LIBRARIES))
    return [f"{name} {version(name)}" for name in names]


@cache
def _code(kind: type) -> str:
    # Not `inspect.getfile`: TVM replaces it by its own, which fails for modules that were imported again.
    file = getattr(sys.modules.get(kind.__module__), "__file__", None)
    if file is None:
        return ""
    digest = hashlib.sha256()
    for path in _files(kind.__module__, Path(file)):
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
