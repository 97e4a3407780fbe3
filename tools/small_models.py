"""The study's five small models, measured by one pytest session in a process of its own.

What `tools/compiler_gains.py` and `tools/compile_cache.py` have in common; `benchmarks/peers/` sweeps them too.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from telling import ROOT, tell

from pytest_ngraph import store

PAGE = ROOT / "docs" / "compilers.md"
TESTS = [f"benchmarks/test_models.py::{name}" for name in ("test_small", "test_small_efficientnet")]


def measure(*options: str, tests: Sequence[str] = TESTS) -> store.Run:
    """What a pytest session of these tests and options recorded. Its own output goes to standard error."""
    with tempfile.TemporaryDirectory(prefix="ngraph-store-") as folder:
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *tests, f"--ngraph-store={folder}"]
        subprocess.run([*command, *options], cwd=ROOT, stdout=sys.stderr, check=False)
        if not store.run_ids(Path(folder)):
            sys.exit("nothing was measured: see pytest's messages above")
        return store.read(Path(folder))


def main(description: str, section: str, find: Callable[[Sequence[str]], tuple[store.Run, str]]) -> None:
    """Print what is found, and with `--write` put it into that section of the docs.

    find: given options for pytest, the run and what it says.
    """
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    chosen, options = parser.parse_known_args()
    run, found = find(options)
    tell(run.environment, found, section if chosen.write else "", PAGE)
