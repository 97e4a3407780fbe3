"""A table as LaTeX, for the packages `booktabs` and `longtable`."""

from __future__ import annotations

from collections.abc import Iterable

from pytest_ngraph.report.markdown import MOST_ROWS
from pytest_ngraph.report.study.tables import display
from pytest_ngraph.report.study.tables.table import Table

MEANINGFUL: dict[str, str | int | None] = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
}
"""Characters with a meaning to TeX, and how to write each literally."""


def escaped(text: str) -> str:
    """Return the text on one line, with its special characters escaped."""
    return " ".join(text.translate(str.maketrans(MEANINGFUL)).split())


def latex(of: Table) -> str:
    """Return a `longtable` with caption and label. A long table is cut; its CSV has every row."""
    frame = display.filled(of.frame.head(MOST_ROWS))
    cut = f" The first {MOST_ROWS} of {of.frame.height:,} rows." if of.frame.height > MOST_ROWS else ""
    alignment = "".join("r" if number else "l" for number in display.numeric(frame)) or "l"
    body = [f"Empty: {escaped(of.missing)}. \\\\"] if of.missing else map(_row, display.rows(frame))
    lines = [
        f"\\begin{{longtable}}{{{alignment}}}",
        f"\\caption[{escaped(of.title)}]{{{escaped(of.title)}. {escaped(of.note + cut)}}}",
        f"\\label{{tab:{of.name}}} \\\\",
        r"\toprule",
        *([] if of.missing else [_row(display.headings(frame)), r"\midrule", r"\endhead"]),
        *body,
        r"\bottomrule",
        r"\end{longtable}",
    ]
    return "\n".join(lines) + "\n"


def _row(cells: Iterable[str]) -> str:
    # Without braces, a bracket or asterisk at the start of a cell would be an argument of the line end before it.
    return " & ".join(f"{{{escaped(cell)}}}" for cell in cells) + r" \\"
