"""The code of a compiler and of what it works with, as a part of what its results follow from."""

from __future__ import annotations

import hashlib
import sys
from functools import cache
from importlib.metadata import packages_distributions, version
from pathlib import Path

from pytest_ngraph import compilers
from pytest_ngraph.machine import LIBRARIES


def source_digest(compiler: str) -> str:
    """Hash of the compiler's own module, or of all modules of its package, and of the versions of those of its
    libraries that are not among `machine.LIBRARIES`; empty for one that is in no file."""
    return _digest(type(compilers.resolve(compiler)))


@cache
def _digest(kind: type) -> str:
    # Not `inspect.getfile`: TVM puts one of its own there, which fails for modules that were imported anew.
    told = getattr(sys.modules.get(kind.__module__), "__file__", None)
    if told is None:
        return ""
    file = Path(told)
    files = sorted(file.parent.rglob("*.py")) if file.name == "__init__.py" else [file]
    parts = [path.read_bytes() for path in files]
    parts += [f"{name} {version(name)}".encode() for name in _further_distributions(kind)]
    return hashlib.sha256(b"".join(parts)).hexdigest()[:16]


def _further_distributions(kind: type) -> list[str]:
    """What the compiler's libraries are installed by, but for those whose versions every result follows from."""
    installed = packages_distributions()
    modules = {library.partition(".")[0] for library in getattr(kind, "libraries", ())}
    return sorted({name for module in modules for name in installed.get(module, ())} - set(LIBRARIES))
