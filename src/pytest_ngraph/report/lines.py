"""Lines of text with a style, for pytest's terminal reporter and for the command line alike."""

from __future__ import annotations

import textwrap
from typing import Literal, NamedTuple

INDENT = "  "

Style = Literal["plain", "heading", "best", "bad", "doubt", "note"]

MARKUP: dict[Style, dict[str, bool]] = {
    "plain": {},
    "heading": {"bold": True},
    "best": {"bold": True, "green": True},
    "bad": {"red": True},
    "doubt": {"yellow": True},
    "note": {"light": True},
}
"""Each style as keywords of pytest's `TerminalReporter.write_line` and `TerminalWriter.line`."""


class Line(NamedTuple):
    """One line of a report, without its end."""

    text: str
    style: Style = "plain"

    @property
    def markup(self) -> dict[str, bool]:
        """Keywords for pytest's terminal writer."""
        return MARKUP[self.style]


def wrapped(text: str, width: int, style: Style = "plain") -> list[Line]:
    """An indented sentence on as many lines as it takes, the second and further ones indented once more."""
    lines = textwrap.wrap(text, width, initial_indent=INDENT, subsequent_indent=2 * INDENT, break_on_hyphens=False)
    return [Line(line, style) for line in lines]


def shortened(text: str, width: int) -> str:
    """The text, cut to `width` characters with an ellipsis."""
    return text if len(text) <= width else f"{text[: max(0, width - 3)].rstrip()}..."
