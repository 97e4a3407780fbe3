"""The page: one file that shows the study in a browser, without a server and without any network.

`contents` says what is on it; `template.html` is its structure, `page.css` its looks and `page.js` the few lines that
draw figures as they scroll into view and pass the reader's filters to them. `libraries` are inlined.
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
from pytest_ngraph.report.study.page import contents, libraries
from pytest_ngraph.report.study.tables import Table

NAME = "index.html"


def write(study: Study, figures: Sequence[Figure], tables: Sequence[Table], folder: Path) -> Path:
    """Write the page into a folder. Returns the file."""
    path = folder / NAME
    path.write_text(render(study, figures, tables), encoding="utf-8")
    return path


def render(study: Study, figures: Sequence[Figure], tables: Sequence[Table]) -> str:
    """The page as HTML. What comes from the study is escaped wherever it stands."""
    environment = Environment(
        loader=PackageLoader("pytest_ngraph.report.study.page", "."),
        autoescape=select_autoescape(default=True),
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("template.html").render(
        summary=contents.summary(study),
        findings=findings(study),
        warnings=study.warnings,
        controls=contents.controls(study),
        intervals=INTERVALS,
        figures=[contents.drawing(figure) for figure in figures],
        tables=[contents.sheet(table) for table in tables if table.name != contents.FAILURES],
        environment=contents.environment(study),
        failures=[contents.sheet(table) for table in tables if table.name == contents.FAILURES],
        # Libraries' and our own code and style, none of which comes from the study.
        styles=Markup(libraries.styles()),
        charts=Markup(libraries.charts()),
        sorting=libraries.sorting(),
    )
