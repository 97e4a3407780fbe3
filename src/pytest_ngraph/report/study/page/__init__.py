"""The page: one file that shows the study in a browser, without a server or a network.

`first` prepares its first screen and `contents` the rest; `template.html` is its structure, `page.css` its style.
`page.js` draws figures as they scroll into view, as wide as the page, and passes the reader's filters to them.
`libraries` are inlined. `cases` writes a further page for each case whose time was profiled, with `case.html` and
`case.css`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from jinja2 import Environment, PackageLoader, select_autoescape
from markupsafe import Markup

from pytest_ngraph.report.study.data import Study
from pytest_ngraph.report.study.figures import Figure
from pytest_ngraph.report.study.figures.filters import INTERVALS
from pytest_ngraph.report.study.findings import findings
from pytest_ngraph.report.study.page import cases, contents, libraries
from pytest_ngraph.report.study.page.first import first_screen
from pytest_ngraph.report.study.sure import pair_in_words
from pytest_ngraph.report.study.tables import Table

NAME = "index.html"


def write(study: Study, figures: Sequence[Figure], tables: Sequence[Table], folder: Path) -> list[Path]:
    """Write the page into a folder, and those of cases into a folder in it. Return the files, the page first."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / NAME
    path.write_text(render(study, figures, tables), encoding="utf-8")
    return [path, *cases.write(study, _environment(), folder)]


def render(study: Study, figures: Sequence[Figure], tables: Sequence[Table]) -> str:
    """Return the page as HTML. Everything that comes from the study is escaped."""
    return (
        _environment()
        .get_template("template.html")
        .render(
            first=first_screen(study),
            pair=pair_in_words(study.between),
            summary=contents.summary(study),
            findings=findings(study),
            warnings=study.warnings,
            controls=contents.controls(study),
            intervals=INTERVALS,
            figures=[contents.drawing(figure) for figure in figures],
            workloads=cases.workloads(study),
            folder_of_cases=cases.FOLDER,
            tables=[contents.sheet(table) for table in tables if table.name != contents.FAILURES],
            environment=contents.environment(study),
            failures=[contents.sheet(table) for table in tables if table.name == contents.FAILURES],
            # Code and style of the libraries and of this package; none of it comes from the study.
            styles=Markup(libraries.styles()),
            charts=Markup(libraries.charts()),
            sorting=libraries.sorting(),
        )
    )


def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("pytest_ngraph.report.study.page", "."),
        autoescape=select_autoescape(default=True),
        trim_blocks=True,
        lstrip_blocks=True,
    )
