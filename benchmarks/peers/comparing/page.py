"""Output of a script's tables: to standard output and, with `--write`, into docs/comparison.md."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence

from markdown_output import ROOT, publish

from pytest_ngraph.machine.machine import environment

PAGE = ROOT / "docs" / "comparison.md"


def parser(description: str | None, parts: Sequence[str]) -> argparse.ArgumentParser:
    """Return the parser with the options of every script. `parts` are those that the script has."""
    made = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--write", action="store_true", help="also put the tables into docs/comparison.md")
    made.add_argument("--parts", type=_some_of(parts), default=list(parts), help=f"tables; default: {','.join(parts)}")
    return made


def _some_of(known: Sequence[str]) -> Callable[[str], list[str]]:
    def chosen(text: str) -> list[str]:
        unknown = [name for name in listed(text) if name not in known]
        if unknown:
            raise argparse.ArgumentTypeError(f"unknown part {', '.join(unknown)}. Known: {', '.join(known)}.")
        return listed(text)

    return chosen


def listed(text: str) -> list[str]:
    """Return an argument's values: a list separated by commas."""
    return text.split(",")


def numbers(text: str) -> list[int]:
    """Return an argument's values: a list of integers separated by commas."""
    return [int(part) for part in listed(text)]


def put(section: str, found: str, *, write: bool) -> None:
    """Print what was found, with its provenance. With `write`, also put it into that section of the page."""
    publish(environment(), found, section if write else "", PAGE)
