"""The study: every table and figure that follows from some records, and one page that shows them.

In: runs of one or several stores. Out: a folder with the page, figures, tables and raw samples.
`data.Study` holds the records and their metrics as frames (`columns` defines their columns). `tables` and `figures` are
pure functions of it, by name; `records` writes the raw samples; `page` puts everything into one file.
It knows no pytest and no framework. Its libraries are those of the extra `report`, imported only inside the functions
of this file. Read `columns.py` first, then `data.py`.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ngraph.errors import Unsupported, UsageError
from pytest_ngraph.system.installed import lacking

if TYPE_CHECKING:
    from pytest_ngraph.report.study.data import Study
    from pytest_ngraph.report.study.tables.table import Table

NEEDED = ("polars", "altair", "vl_convert", "jinja2", "itables", "packaging")
TABLES, FIGURES = "tables", "figures"
"""Folders of a report."""


def check_libraries() -> None:
    """Raise `Unsupported` if a library is missing."""
    if missing := lacking(NEEDED):
        raise Unsupported(f'a report needs {", ".join(missing)}: pip install "pytest-ngraph[report]"')


def check(folder: Path) -> None:
    """Raise `Unsupported` if a library is missing, and `UsageError` if no report can be written to this folder.

    A folder that was not there is not there afterwards: until there is a report, there may be an error.
    """
    check_libraries()
    made = [each for each in (folder, *folder.parents) if not each.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / ".probe"
        probe.touch()
        probe.unlink()
        for each in made:
            each.rmdir()
    except OSError as error:
        raise UsageError(f"cannot write a report to {folder}: {error.strerror}. Give another folder.") from None


def keep_rows(journal: Path) -> None:
    """Keep the rows of a run that follow from its journal so far, for the reports to come.

    It is done in a process of its own, which gives back the memory that a library and thousands of records take. Where
    it fails, nothing is lost: a report makes the rows itself, and says what is wrong.
    """
    if lacking(NEEDED):
        return
    from pytest_ngraph.system.child import command  # needs ctypes, and test collection imports this file

    keeping = command(sys.executable, "pytest_ngraph.report.study.kept", str(journal))
    with suppress(OSError):
        subprocess.run(keeping, stdin=subprocess.DEVNULL, capture_output=True, check=False)


def write(study: Study, folder: Path) -> list[Path]:
    """Write the whole report into a folder. Return its files, the page first."""
    from pytest_ngraph.report.study import figures, page, records, tables
    from pytest_ngraph.report.study.figures.files import write as write_figures
    from pytest_ngraph.report.study.tables.files import write as write_tables

    made_tables = [make(study) for make in tables.TABLES.values()]
    made_figures = [make(study) for make in figures.FIGURES.values()]
    return [
        *page.write(study, made_figures, made_tables, folder),
        *write_figures(made_figures, folder / FIGURES),
        *write_tables(made_tables, folder / TABLES),
        *records.write(study, folder),
    ]


def write_figure(study: Study, name: str, folder: Path) -> list[Path]:
    """Write one figure. Raises `UsageError` if it is unknown or its data are missing."""
    from pytest_ngraph.report.study.figures import FIGURES as KNOWN
    from pytest_ngraph.report.study.figures.files import write as write_figures

    figure = KNOWN[_known("figure", name, KNOWN)](study)
    if figure.missing:
        raise UsageError(f"figure {name} has no data: {figure.missing}.")
    return write_figures([figure], folder / FIGURES)


def write_table(study: Study, name: str, folder: Path) -> list[Path]:
    """Write one table. Raises `UsageError` if it is unknown."""
    from pytest_ngraph.report.study.tables.files import write_one

    (folder / TABLES).mkdir(parents=True, exist_ok=True)
    return write_one(_table(study, name), folder / TABLES)


def table_as_text(study: Study, name: str) -> str:
    """Return one table as Markdown. Raises `UsageError` if it is unknown."""
    from pytest_ngraph.report.study.tables.markdown import markdown

    return markdown(_table(study, name))


def _table(study: Study, name: str) -> Table:
    from pytest_ngraph.report.study.tables import TABLES as KNOWN

    return KNOWN[_known("table", name, KNOWN)](study)


def _known(what: str, name: str, known: Iterable[str]) -> str:
    if name not in known:
        raise UsageError.unknown(what, name, known)
    return name
