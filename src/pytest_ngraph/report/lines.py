"""Lines of text with a style, for pytest's terminal reporter and for the command line."""

from __future__ import annotations

import textwrap
from typing import Literal, NamedTuple

INDENT = "  "

Style = Literal["plain", "heading", "best", "bad", "failing", "doubt", "note"]

MARKUP: dict[Style, dict[str, bool]] = {
    "plain": {},
    "heading": {"bold": True},
    "best": {"bold": True, "green": True},
    "bad": {"red": True},
    "failing": {"red": True, "bold": True},
    "doubt": {"yellow": True},
    "note": {"light": True},
}
"""Each style as keywords of pytest's `TerminalReporter.write_line` and `TerminalWriter.line`."""


class Line(NamedTuple):
    """One line of a report, without line break."""

    text: str
    style: Style = "plain"

    @property
    def markup(self) -> dict[str, bool]:
        """Keywords for pytest's terminal writer."""
        return MARKUP[self.style]


def wrapped(text: str, width: int, style: Style = "plain", indent: str = INDENT) -> list[Line]:
    """Return an indented sentence as several lines, indented further from the second one on."""
    further = indent + INDENT
    lines = textwrap.wrap(text, width, initial_indent=indent, subsequent_indent=further, break_on_hyphens=False)
    return [Line(line, style) for line in lines]


def shortened(text: str, width: int) -> str:
    """Return the text, cut to `width` characters with an ellipsis."""
    return text if len(text) <= width else f"{text[: max(0, width - 3)].rstrip()}..."
