"""The folder of a report."""

from __future__ import annotations

from pathlib import Path

import profiled
from synthetic import case, measured

from pytest_ngraph.record import Record
from pytest_ngraph.report import study
from pytest_ngraph.report.study.data import Study
from pytest_ngraph.store import Run


def study_of(*records: Record) -> Study:
    return Study.of([Run(id="1", records=records)])


def test_a_second_report_leaves_nothing_of_the_first(tmp_path: Path) -> None:
    """A figure that is not drawn, or the page of a case that is not there, would stand beside the new tables."""
    kept = study_of(profiled.profiled(case("tvm"), profiled.residual(1, 1), 0.1))
    assert {"cases/resnet18-tvm-b1-xeon.html", "figures/parts.svg"} <= written(kept, tmp_path)
    own = tmp_path / "cases" / "mine.html"
    own.write_text("<p>What I think of it.</p>")
    plain = written(study_of(measured(case("tvm"), 0.1)), tmp_path)
    assert "figures/parts.svg" not in plain
    assert plain == files(tmp_path) - {"cases/mine.html"}


def written(of: Study, folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in study.write(of, folder)}


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
