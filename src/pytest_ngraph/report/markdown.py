"""Pieces of GitHub's Markdown that stay what they are whatever text is put into them."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import compress

LEFT, RIGHT = "---", "---:"
"""How a table's column is aligned."""
MOST_ROWS = 300
"""Of a table: GitHub refuses a summary of more than 1 MiB as a whole."""

MEANINGFUL = re.compile(r"[\\`*\[\]<>|~#&$]|(?<![^\W_])_|_(?![^\W_])")
"""Characters that start something; an underscore does where it is not inside a word."""


def escaped(text: str) -> str:
    """The text on one line, as prose that means nothing else: a character reference never starts markup."""
    return MEANINGFUL.sub(lambda found: f"&#{ord(found[0])};", " ".join(text.split()))


def code(text: str) -> str:
    """A name in fixed width, in a table or outside of it."""
    if re.search(r"[`|\\]", text):
        return f"<code>{escaped(text)}</code>"
    return f"`{' '.join(text.split())}`"


def table(columns: Mapping[str, str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A table and an empty line; a column without any content is left out.

    columns: how each is aligned, by heading. rows: cells, already escaped.
    """
    rows = list(rows)
    filled = [any(cells) for cells in zip(*rows, strict=True)]
    lines = [_row(compress(cells, filled)) for cells in (columns, columns.values(), *rows[:MOST_ROWS])] + [""]
    return [*lines, f"... and {len(rows) - MOST_ROWS} more.", ""] if len(rows) > MOST_ROWS else lines


def folded(title: str, lines: Sequence[str]) -> list[str]:
    """Lines that are shown on a click at the title."""
    return [f"<details><summary>{html.escape(title, quote=False)}</summary>", "", *lines, "</details>", ""]


def fenced(text: str) -> list[str]:
    """A block of fixed width, its fence longer than any within."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return [fence + "sh", text, fence, ""]


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
