"""The study's five small models, measured by one pytest session in a process of its own.

Shared by `tools/compiler_gains.py`, `tools/compile_cache.py` and the sweep of `benchmarks/peers/`.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from markdown_output import ROOT, publish

from pytest_ngraph import store

PAGE = ROOT / "docs" / "compilers.md"
TESTS = [f"benchmarks/test_models.py::{name}" for name in ("test_small", "test_small_efficientnet")]


def measure(*options: str, tests: Sequence[str] = TESTS) -> store.Run:
    """Run a pytest session and return what it recorded. Its own output goes to standard error."""
    with tempfile.TemporaryDirectory(prefix="ngraph-store-") as folder:
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *tests, f"--ngraph-store={folder}"]
        subprocess.run([*command, *options], cwd=ROOT, stdout=sys.stderr, check=False)
        if not store.run_ids(Path(folder)):
            sys.exit("nothing was measured. See pytest's messages above.")
        return store.read(Path(folder))


def main(description: str, section: str, find: Callable[[Sequence[str]], tuple[store.Run, str]]) -> None:
    """Print what is found, and with `--write` put it into that section of the docs.

    Args:
        description: what `--help` shows.
        section: section of the docs.
        find: takes options for pytest; returns the run and its tables.
    """
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    chosen, options = parser.parse_known_args()
    run, found = find(options)
    publish(run.environment, found, section if chosen.write else "", PAGE)
