"""The study's five small models, measured by one pytest session in a process of its own, and how its findings are told.

What `tools/compiler_gains.py` and `tools/compile_cache.py` have in common.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from pytest_ngraph import store
from pytest_ngraph.machine import LIBRARIES
from pytest_ngraph.report import markdown
from pytest_ngraph.wording import counted, seen_from

ROOT = Path(__file__).parents[1]
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
    tell(run, found, section if chosen.write else "")


def table(heading: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table whose first column is of text, the others of figures."""
    columns = {name: markdown.RIGHT if place else markdown.LEFT for place, name in enumerate(heading)}
    return "\n".join(markdown.table(columns, rows)).rstrip()


def provenance(run: store.Run) -> str:
    """The command that was run, and where, in a sentence."""
    script = seen_from(ROOT, Path(sys.argv[0]).resolve())
    return f"`{' '.join(['python', script, *sys.argv[1:]])}` on {surroundings(run)}."


def surroundings(run: store.Run) -> str:
    """The day, the machine and the versions."""
    environment = run.environment
    cores = len(environment["cores"].split(","))
    versions = ", ".join(f"{name} {environment[name]}" for name in LIBRARIES if name in environment)
    return (
        f"{time.strftime('%Y-%m-%d')}, {environment.get('processor') or environment['architecture']}, "
        f"{counted(cores, 'core')}, Python {environment['python']}, {versions}"
    )


def tell(run: store.Run, found: str, section: str = "", path: Path = PAGE) -> None:
    """Print what a run says, with its provenance. section: of the docs, where it is to stand as well."""
    text = f"{provenance(run)}\n\n{found}"
    print(text)
    if section:
        write(section, text, path)


def write(section: str, text: str, path: Path = PAGE) -> None:
    """Put a text between the markers of its section in the docs."""
    page = path.read_text()
    marked = re.compile(rf"(<!-- {section}: measured -->\n).*?(<!-- end -->)", re.DOTALL)
    if not marked.search(page):
        sys.exit(f"{path} has no section <!-- {section}: measured -->")
    path.write_text(marked.sub(lambda match: f"{match[1]}{text}\n{match[2]}", page))
