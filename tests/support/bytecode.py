"""The package's bytecode, which the processes that tests start read, and never write.

Without it, each of many hundred processes compiles the package again, and under pytest rewrites its assertions, too.
These processes write none of the modules that tests make: Python takes a module's bytecode for current if its size and
the second of its last change are the same, and a test changes a file in less.
"""

from __future__ import annotations

import compileall
import os
import sys
from pathlib import Path

import pytest
from _pytest.assertion import AssertionState, rewrite

import pytest_ngraph

NONE = "PYTHONDONTWRITEBYTECODE"


def write() -> None:
    """Write the package's bytecode."""
    os.environ.pop(NONE, None)
    sys.dont_write_bytecode = False
    compileall.compile_dir(pytest_ngraph.__path__[0], quiet=2)


def write_rewritten(config: pytest.Config) -> None:
    """Write the bytecode of what pytest rewrites: many modules are imported only by processes that write none."""
    state = AssertionState(config, "rewrite")
    for source in Path(pytest_ngraph.__path__[0]).rglob("*.py"):
        written = rewrite.get_cache_dir(source) / (source.stem + rewrite.PYC_TAIL)
        if rewrite._read_pyc(source, written) is None:
            digest, code = rewrite._rewrite_test(source, config)
            rewrite._write_pyc(state, code, digest, written)


def only_read() -> None:
    """Have the processes that this one starts write none."""
    os.environ[NONE] = "1"
