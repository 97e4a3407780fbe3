"""Words for numbers and paths."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


def counted(count: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun: `1 case`, `2,000 cases`. Give `plural` where it is not the noun with an s."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def listed(names: Sequence[str], most: int) -> str:
    """Return `a, b, c`; of more than `most` names only the first: `a, b, c and 2 more`."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def seen_from(here: Path, path: Path) -> str:
    """Return a path as shown to users: relative to `here` where it lies below it, else absolute."""
    return str(path.relative_to(here) if path.is_relative_to(here) else path)
