"""The bytecode of the package and the tests, which the processes that tests start read, and never write.

Without it, each of many hundred processes compiles the package again, and under pytest rewrites its assertions, too.
These processes write none of the modules that tests make: Python takes a module's bytecode for current if its size and
the second of its last change are the same, and a test changes a file in less.
"""

from __future__ import annotations

import compileall
import os
import random
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest
from _pytest.assertion import rewrite

import pytest_ngraph

NONE = "PYTHONDONTWRITEBYTECODE"


def write() -> None:
    """Write the package's bytecode."""
    os.environ.pop(NONE, None)
    sys.dont_write_bytecode = False
    compileall.compile_dir(pytest_ngraph.__path__[0], quiet=2)


def write_rewritten(config: pytest.Config, folders: Iterable[str], names: str = "*.py") -> None:
    """Write the bytecode of the files in these folders as pytest rewrites them.

    Processes that do so at the same time share the work: each takes the files in an order of its own, and leaves out
    those that another has written.
    """
    sources = [source for folder in folders for source in Path(folder).rglob(names)]
    for source in random.sample(sources, len(sources)):
        folder = rewrite.get_cache_dir(source)
        written = folder / f"{source.stem}{rewrite.PYC_TAIL}"
        if rewrite.try_makedirs(folder) and rewrite._read_pyc(source, written) is None:
            status, code = rewrite._rewrite_test(source, config)
            rewrite._write_pyc(config.stash[rewrite.assertstate_key], code, status, written)


def only_read() -> None:
    """Have the processes that this one starts write none."""
    os.environ[NONE] = "1"
