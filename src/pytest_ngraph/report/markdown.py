"""Pieces of GitHub's Markdown, with any text inside escaped."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import compress

LEFT, RIGHT = "---", "---:"
"""Alignments of a table's column."""
MOST_ROWS = 300
"""Maximum number of rows of a table: GitHub rejects a summary of more than 1 MiB as a whole."""

MEANINGFUL = re.compile(r"[\\`*\[\]<>|~#&$]|(?<![^\W_])_|_(?![^\W_])")
"""Characters that can start markup; an underscore can only outside a word."""
MENTION = re.compile(r"(?<!\w)@(?=\w)")
"""A mention, which notifies whoever has that name, also as a character reference. A zero-width space prevents it."""


def escaped(text: str) -> str:
    """Return the text on one line, with characters that could start markup as character references.

    Nobody is notified by a name in it.
    """
    plain = MEANINGFUL.sub(lambda found: f"&#{ord(found[0])};", " ".join(text.split()))
    return MENTION.sub("@&#8203;", plain)


def code(text: str) -> str:
    """Return a name in fixed width, for use inside and outside tables."""
    if re.search(r"[`|\\]", text):
        return f"<code>{escaped(text)}</code>"
    return f"`{' '.join(text.split())}`"


def table(columns: Mapping[str, str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return a table and an empty line; columns without any content are left out.

    Args:
        columns: the alignment of each column, by heading.
        rows: cells, already escaped.
    """
    rows = list(rows)
    filled = [any(cells) for cells in zip(*rows, strict=True)]
    lines = [_row(compress(cells, filled)) for cells in (columns, columns.values(), *rows[:MOST_ROWS])] + [""]
    return [*lines, f"... and {len(rows) - MOST_ROWS} more.", ""] if len(rows) > MOST_ROWS else lines


def folded(title: str, lines: Sequence[str]) -> list[str]:
    """Return lines that are shown when the title is clicked."""
    return [f"<details><summary>{html.escape(title, quote=False)}</summary>", "", *lines, "</details>", ""]


def fenced(text: str) -> list[str]:
    """Return a code block, its fence longer than any within."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return [fence + "sh", text, fence, ""]


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
