"""Output of a tool as Markdown: tables, the command and machine that produced them, and their section of the docs."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from pytest_ngraph.machine.machine import environment_in_words
from pytest_ngraph.report import markdown
from pytest_ngraph.system.installed import LIBRARIES
from pytest_ngraph.wording import seen_from

ROOT = Path(__file__).parents[1]


def table(heading: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table whose first column holds text, the others numbers."""
    columns = {name: markdown.RIGHT if place else markdown.LEFT for place, name in enumerate(heading)}
    return "\n".join(markdown.table(columns, rows)).rstrip()


def provenance(environment: Mapping[str, str]) -> str:
    """Return a sentence with the command that was run, and where. `environment` is from `machine.environment`."""
    script = seen_from(ROOT, Path(sys.argv[0]).resolve())
    return f"`{' '.join(['python', script, *sys.argv[1:]])}` on {surroundings(environment)}."


def surroundings(environment: Mapping[str, str]) -> str:
    """Return the day, the machine and the versions."""
    versions = ", ".join(f"{name} {environment[name]}" for name in (*LIBRARIES, "distributed") if name in environment)
    return (
        f"{time.strftime('%Y-%m-%d')}, {environment_in_words(environment)}, Python {environment['python']}, {versions}"
    )


def publish(environment: Mapping[str, str], found: str, section: str, path: Path) -> None:
    """Print what was found, with its provenance, and write it into the docs if a section is given.

    Args:
        environment: from `machine.environment`.
        found: the Markdown.
        section: section of the page; empty to print only.
        path: the page.
    """
    text = f"{provenance(environment)}\n\n{found}"
    print(text)
    if section:
        write(section, text, path)


def write(section: str, text: str, path: Path) -> None:
    """Write a text between the markers of its section in the docs."""
    page = path.read_text()
    marked = re.compile(rf"(<!-- {section}: measured -->\n).*?(<!-- end -->)", re.DOTALL)
    if not marked.search(page):
        sys.exit(f"{path} has no section <!-- {section}: measured -->")
    path.write_text(marked.sub(lambda match: f"{match[1]}{text}\n{match[2]}", page))
