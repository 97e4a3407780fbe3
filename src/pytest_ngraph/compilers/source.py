"""The code of a compiler, as a part of what its results follow from."""

from __future__ import annotations

import hashlib
import sys
from functools import cache
from pathlib import Path

from pytest_ngraph import compilers


def source_digest(compiler: str) -> str:
    """Hash of the compiler's own module, or of all modules of its package; empty for one that is in no file."""
    return _digest(type(compilers.resolve(compiler)))


@cache
def _digest(kind: type) -> str:
    # Not `inspect.getfile`: TVM puts one of its own there, which fails for modules that were imported anew.
    told = getattr(sys.modules.get(kind.__module__), "__file__", None)
    if told is None:
        return ""
    file = Path(told)
    files = sorted(file.parent.rglob("*.py")) if file.name == "__init__.py" else [file]
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:16]
