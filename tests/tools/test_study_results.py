"""The page of results has the study's tables, figures and findings in the sections that it asks for."""

from __future__ import annotations

from pathlib import Path

import formula
import pytest

pytest.importorskip("polars")

import markdown_output
import study_results

from pytest_ngraph.wording import counted

PAGE = """# Results
<!-- results: run -->
old
<!-- end -->
<!-- results: findings -->
<!-- end -->
<!-- results: table depth_conv -->
<!-- end -->
<!-- results: figure friction -->
<!-- end -->
The rest stays.
"""


@pytest.fixture(autouse=True)
def surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(markdown_output, "surroundings", lambda environment: environment["processor"])


def test_each_section_is_made_from_the_runs(tmp_path: Path) -> None:
    runs = formula.runs()
    found = study_results.filled(PAGE, runs, tmp_path / "pictures")
    assert "\nold\n" not in found
    assert "\n- **Fastest compiler.** On " in found
    assert "| depth slope |" in found
    assert "\n## " not in found
    assert "](pictures/friction.png)\n" in found
    assert (tmp_path / "pictures" / "friction.png").read_bytes().startswith(b"\x89PNG")
    assert found.endswith("The rest stays.\n")


def test_a_case_measured_in_two_runs_is_counted_once(tmp_path: Path) -> None:
    runs = formula.runs()
    cases = {record.case for run in runs for record in run.records}
    assert len(cases) < sum(len(run.records) for run in runs)
    found = study_results.filled(PAGE, runs, tmp_path)
    assert f"<!-- results: run -->\n{counted(len(cases), 'case')}, of which " in found


def test_a_page_filled_twice_stays_the_same(tmp_path: Path) -> None:
    runs = formula.runs()
    once = study_results.filled(PAGE, runs, tmp_path)
    assert study_results.filled(once, runs, tmp_path) == once


def test_an_unknown_section_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="unknown section 'tables' in the page"):
        study_results.filled("<!-- results: tables friction -->\n<!-- end -->", formula.runs(), tmp_path)
