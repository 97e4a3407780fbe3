"""A table as Markdown."""

from __future__ import annotations

from pytest_ngraph.report.markdown import LEFT, MOST_ROWS, RIGHT, escaped, table
from pytest_ngraph.report.study.tables import display
from pytest_ngraph.report.study.tables.table import Table


def markdown(of: Table) -> str:
    """Return the heading, the rows and the note. A long table is cut; its CSV has every row."""
    frame = display.filled(of.frame.head(MOST_ROWS))
    aligned = [RIGHT if number else LEFT for number in display.numeric(frame)]
    columns = dict(zip(map(escaped, display.headings(frame)), aligned, strict=True))
    rows = [list(map(escaped, cells)) for cells in display.rows(frame)]
    body = [f"Empty: {escaped(of.missing)}.", ""] if of.missing else table(columns, rows)
    cut = [f"The first {MOST_ROWS} of {of.frame.height:,} rows.", ""] if of.frame.height > MOST_ROWS else []
    return "\n".join([f"## {escaped(of.heading)}", "", *body, *cut, escaped(of.note), ""])
