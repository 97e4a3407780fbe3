"""Where a script's tables go: to standard output, and into docs/comparison.md when asked."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence

from telling import ROOT, tell

from pytest_ngraph.machine.machine import environment

PAGE = ROOT / "docs" / "comparison.md"


def parser(description: str | None, parts: Sequence[str]) -> argparse.ArgumentParser:
    """What every script is told on its command line. parts: of which each makes a table."""
    made = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--write", action="store_true", help="put what is found into docs/comparison.md as well")
    made.add_argument("--parts", type=_some_of(parts), default=list(parts), help=f"default: {','.join(parts)}")
    return made


def _some_of(known: Sequence[str]) -> Callable[[str], list[str]]:
    def chosen(text: str) -> list[str]:
        unknown = [name for name in listed(text) if name not in known]
        if unknown:
            raise argparse.ArgumentTypeError(f"there is no {', '.join(unknown)}, only {', '.join(known)}")
        return listed(text)

    return chosen


def listed(text: str) -> list[str]:
    """An argument's values."""
    return text.split(",")


def numbers(text: str) -> list[int]:
    """An argument's values."""
    return [int(part) for part in listed(text)]


def put(section: str, found: str, *, write: bool) -> None:
    """Print what was found, with its provenance; with `write` it stands in that section of the page, too."""
    tell(environment(), found, section if write else "", PAGE)
