"""The page of results has the study's tables, figures and findings in the sections that it asks for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import formula
import pytest

pytest.importorskip("polars")

import markdown_output
import study_results

from pytest_ngraph.store import Run
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


class Filled(NamedTuple):
    """The page as it is filled from these runs, with its pictures in a folder."""

    page: str
    runs: list[Run]
    folder: Path


@pytest.fixture(scope="module", autouse=True)
def surroundings() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(markdown_output, "surroundings", lambda environment: environment["processor"])
        yield


@pytest.fixture(scope="module")
def filled(surroundings: None, tmp_path_factory: pytest.TempPathFactory) -> Filled:
    folder, runs = tmp_path_factory.mktemp("results"), formula.runs()
    return Filled(study_results.filled(PAGE, runs, folder / "pictures"), runs, folder)


def test_each_section_is_made_from_the_runs(filled: Filled) -> None:
    found = filled.page
    assert "\nold\n" not in found
    assert "\n- **Fastest compiler.** On " in found
    assert "| depth slope |" in found
    assert "\n## " not in found
    assert "](pictures/friction.png)\n" in found
    assert (filled.folder / "pictures" / "friction.png").read_bytes().startswith(b"\x89PNG")
    assert found.endswith("The rest stays.\n")


def test_a_case_measured_in_two_runs_is_counted_once(filled: Filled) -> None:
    cases = {record.case for run in filled.runs for record in run.records}
    assert len(cases) < sum(len(run.records) for run in filled.runs)
    assert f"<!-- results: run -->\n{counted(len(cases), 'case')}, of which " in filled.page


def test_a_page_filled_twice_stays_the_same(filled: Filled) -> None:
    assert study_results.filled(filled.page, filled.runs, filled.folder / "pictures") == filled.page


def test_an_unknown_section_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="unknown section 'tables' in the page"):
        study_results.filled("<!-- results: tables friction -->\n<!-- end -->", formula.runs(), tmp_path)
