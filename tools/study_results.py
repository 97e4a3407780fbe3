"""Write the results of a whole run of the study into docs/results.md: cases, findings, tables and pictures.

    pytest benchmarks/ [...]
    python tools/study_results.py [STORE]

The page has a section for each: between `<!-- results: WHAT -->` and `<!-- end -->` goes the `run`, the `findings`, a
`table NAME` or a `figure NAME`, whose picture goes to docs/pictures/.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import markdown_output

from pytest_ngraph import store
from pytest_ngraph.report import study
from pytest_ngraph.report.study.data import Study
from pytest_ngraph.report.study.figures import FIGURES
from pytest_ngraph.report.study.figures.files import write_one
from pytest_ngraph.report.study.findings import findings
from pytest_ngraph.store import Run
from pytest_ngraph.wording import counted

PAGE = markdown_output.ROOT / "docs" / "results.md"
PICTURES = "pictures"
SECTION = re.compile(r"(<!-- results: (\S+) ?(\S*) -->\n).*?(<!-- end -->)", re.DOTALL)


def filled(page: str, runs: list[Run], pictures: Path) -> str:
    """Return the page with every section made from these runs. Write its pictures into that folder."""
    of = Study.of(runs)
    makers: dict[str, Callable[[str], str]] = {
        "run": lambda _: what_ran(of, runs[-1]),
        "findings": lambda _: what_it_says(of),
        "table": lambda name: without_heading(study.table_as_text(of, name)),
        "figure": lambda name: figure(of, name, pictures),
    }

    def fill(match: re.Match[str]) -> str:
        kind, name = match[2], match[3]
        if kind not in makers:
            sys.exit(f"unknown section {kind!r} in the page. Known: {', '.join(makers)}.")
        return f"{match[1]}{makers[kind](name).strip()}\n{match[4]}"

    return SECTION.sub(fill, page)


def what_ran(of: Study, last: Run) -> str:
    """Return a sentence on the number of cases, their outcomes, the machine and the versions."""
    cases, measured, settled = len(of.cases), len(of.measured), of.measured["stable"].sum()
    return (
        f"{counted(cases, 'case')}, of which {measured} were measured and {settled} settled within their budget, on "
        f"{markdown_output.surroundings(last.environment)}."
    )


def what_it_says(of: Study) -> str:
    """Return the findings as a list with their topics."""
    return "\n".join(f"- **{each.topic}.** {' '.join(each.sentences)}" for each in findings(of))


def without_heading(table: str) -> str:
    """Return a table's Markdown without its heading: the page has one of its own."""
    return table.partition("\n")[2]


def figure(of: Study, name: str, pictures: Path) -> str:
    """Write the picture of a figure. Return the Markdown that shows it, with its note."""
    made = FIGURES[name](of)
    with tempfile.TemporaryDirectory() as folder:
        _, png, _ = write_one(made, Path(folder))
        pictures.mkdir(exist_ok=True)
        shutil.copy(png, pictures)
    return f"![{made.heading}]({pictures.name}/{png.name})\n\n{made.note} {made.left_out}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store", nargs="?", type=Path, default=Path(".ngraph"))
    folder = parser.parse_args().store
    runs = [store.read(folder, name) for name in store.run_ids(folder)]
    if not runs:
        sys.exit(f"{folder} has no runs. Measure first: --help says how.")
    PAGE.write_text(filled(PAGE.read_text(), runs, PAGE.parent / PICTURES))
    print(f"{PAGE.relative_to(markdown_output.ROOT)} now shows {counted(len(runs), 'run')} of {folder}")


if __name__ == "__main__":
    main()
