"""The package's bytecode, which the processes that tests start read, and never write.

Without it, each of many hundred processes compiles the package again, and under pytest rewrites its assertions, too.
These processes write none of the modules that tests make: Python takes a module's bytecode for current if its size and
the second of its last change are the same, and a test changes a file in less.
"""

from __future__ import annotations

import compileall
import os
import sys

import pytest_ngraph

NONE = "PYTHONDONTWRITEBYTECODE"


def write() -> None:
    """Write the package's bytecode; this process and pytest-xdist's also write that of what pytest rewrites."""
    os.environ.pop(NONE, None)
    sys.dont_write_bytecode = False
    compileall.compile_dir(pytest_ngraph.__path__[0], quiet=2)


def only_read() -> None:
    """Have the processes that this one starts write none."""
    os.environ[NONE] = "1"
