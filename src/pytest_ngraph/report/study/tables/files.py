"""Tables as files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pytest_ngraph.report.markdown import escaped
from pytest_ngraph.report.study.tables.latex import latex
from pytest_ngraph.report.study.tables.markdown import markdown
from pytest_ngraph.report.study.tables.table import Table

CONTENTS = "README.md"


def write(tables: Sequence[Table], folder: Path) -> list[Path]:
    """Write each table as CSV with every row, as Markdown and as LaTeX, and a list of the tables. Return the files."""
    folder.mkdir(parents=True, exist_ok=True)
    written = [path for table in tables for path in write_one(table, folder)]
    contents = folder / CONTENTS
    contents.write_text("\n".join(map(_entry, tables)) + "\n", encoding="utf-8")
    return [*written, contents]


def write_one(table: Table, folder: Path) -> list[Path]:
    """Write one table in every format. The folder must exist. Return the files."""
    csv, md, tex = (folder / f"{table.name}.{ending}" for ending in ("csv", "md", "tex"))
    table.frame.write_csv(csv)
    md.write_text(markdown(table), encoding="utf-8")
    tex.write_text(latex(table), encoding="utf-8")
    return [csv, md, tex]


def _entry(table: Table) -> str:
    rows = f"empty: {escaped(table.missing)}" if table.missing else f"{table.frame.height:,} rows"
    return f"- `{table.name}`, {escaped(table.heading)} ({rows}). {escaped(table.note)}"
