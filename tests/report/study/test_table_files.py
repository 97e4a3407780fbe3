from __future__ import annotations

import csv
import re
from pathlib import Path

import polars as pl
import pytest
from synthetic import case, measured

from pytest_ngraph.report.markdown import MOST_ROWS
from pytest_ngraph.report.study import records
from pytest_ngraph.report.study.data import Study
from pytest_ngraph.report.study.tables import TABLES, Table
from pytest_ngraph.report.study.tables.display import headings
from pytest_ngraph.report.study.tables.files import write
from pytest_ngraph.report.study.tables.latex import escaped, latex
from pytest_ngraph.report.study.tables.markdown import markdown
from pytest_ngraph.store import Run

HOSTILE = 'a|b<script>alert("&")</script>\\end{table}$_%#~^\nnext, line'


def table(frame: pl.DataFrame, missing: str = "") -> Table:
    return Table(name="sizes", number="IX", title="Sizes & more", note="What it shows.", frame=frame, missing=missing)


@pytest.fixture
def hostile() -> Table:
    frame = {"label": [HOSTILE], "compile_s": [1.23456], "macs": [11_689_512], "worker_memory_bytes": [2**30]}
    return table(pl.DataFrame(frame))


def test_csv_gives_back_what_was_put_in(hostile: Table, tmp_path: Path) -> None:
    write([hostile], tmp_path)
    with (tmp_path / "sizes.csv").open(newline="") as file:
        assert list(csv.DictReader(file)) == [
            {"label": HOSTILE, "compile_s": "1.23456", "macs": "11689512", "worker_memory_bytes": str(2**30)}
        ]


def test_markdown_shows_a_hostile_name_as_text(hostile: Table) -> None:
    lines = markdown(hostile).splitlines()
    assert lines[0] == "## Sizes &#38; more (Table IX)"
    assert lines[2] == "| label | compile (s) | macs | worker memory |"
    assert lines[3] == "| --- | ---: | ---: | ---: |"
    assert lines[4].endswith("| 1.23 | 11,689,512 | 1.00 GiB |")
    assert "<script>" not in lines[4]
    assert len(re.findall(r"\|", lines[4])) == 5
    assert lines[-1] == "What it shows."


def test_latex_shows_a_hostile_name_as_text(hostile: Table) -> None:
    text = latex(hostile)
    assert text.startswith("\\begin{longtable}{lrrr}\n\\caption[Sizes \\& more]{Sizes \\& more. What it shows.}\n")
    (row,) = [line for line in text.splitlines() if "textless" in line]
    assert row.count(" & ") == 3
    assert row.endswith("{1.23} & {11,689,512} & {1.00 GiB} \\\\")
    assert text.count("\\end{") == 1


@pytest.mark.parametrize(
    ("text", "shown"),
    [("50 %", r"50 \%"), ("a_b", r"a\_b"), ("\\", r"\textbackslash{}"), ("{x}", r"\{x\}"), ("a\nb", "a b")],
)
def test_each_character_that_means_something_to_tex_is_escaped(text: str, shown: str) -> None:
    assert escaped(text) == shown


def test_an_empty_table_says_what_is_missing(tmp_path: Path) -> None:
    empty = table(pl.DataFrame(schema={"label": pl.String}), missing="needs conv at two depths")
    assert "\nEmpty: needs conv at two depths.\n" in markdown(empty)
    assert "Empty: needs conv at two depths." in latex(empty)
    write([empty], tmp_path)
    assert "empty: needs conv at two depths" in (tmp_path / "README.md").read_text()
    assert (tmp_path / "sizes.csv").read_text() == "label\n"


def test_a_long_table_is_cut_but_for_its_csv(tmp_path: Path) -> None:
    long = table(pl.DataFrame({"row": range(MOST_ROWS + 700)}))
    write([long], tmp_path)
    assert len((tmp_path / "sizes.csv").read_text().splitlines()) == MOST_ROWS + 701
    for ending in ("md", "tex"):
        text = (tmp_path / f"sizes.{ending}").read_text()
        assert f"The first {MOST_ROWS} of 1,000 rows." in text
        assert str(MOST_ROWS) not in text.replace(f"first {MOST_ROWS}", "")


def test_columns_without_content_are_left_out_for_people() -> None:
    assert "depth" not in markdown(table(pl.DataFrame({"label": ["a"], "depth": [None], "absent": [""]})))


def test_every_table_of_the_synthetic_study_is_written(synthetic: Study, tmp_path: Path) -> None:
    written = write([make(synthetic) for make in TABLES.values()], tmp_path)
    assert {path.name for path in written} == {path.name for path in tmp_path.iterdir()}
    assert len(written) == 3 * len(TABLES) + 1
    contents = (tmp_path / "README.md").read_text()
    assert "- `families`, Aggregated results by architectural family (Table VI) (98 rows)." in contents


def test_records_hold_every_raw_sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "AT_ONCE", 2)
    made = [measured(case(workload=name), [0.1, 0.2, 0.3]) for name in ("a", HOSTILE, "c")]
    records.write(Study.of([Run(id="1", records=tuple(made))]), tmp_path)
    with (tmp_path / "records.csv").open(newline="") as file:
        found = list(csv.DictReader(file))
    assert [(row["label"], row["round"], row["elapsed_s"]) for row in found] == [
        (name, str(number), str(number / 10)) for name in ("a", HOSTILE, "c") for number in (1, 2, 3)
    ]
    frame = pl.read_parquet(tmp_path / "records.parquet")
    assert frame["elapsed_s"].to_list() == [[0.1, 0.2, 0.3]] * 3
    assert frame["label"].to_list() == ["a", HOSTILE, "c"]
    assert frame["label"].dtype == pl.String


def test_the_text_of_a_record_is_what_polars_writes() -> None:
    odd = [None, "", " a", "a,b", 'a"b', '"', "a\nb", "a\rb", "#", "ä", "a\tb", "null", "\\", "x\x00y"]
    frame = pl.DataFrame({"one": odd, "other": odd[::-1], "number": [None, *range(-1, len(odd) - 2)]})
    joined = frame.select(pl.concat_str(map(records.in_csv, frame.columns), separator=","))
    assert joined.write_csv(include_header=False, quote_style="never") == frame.write_csv(include_header=False)


def test_names_of_devices_and_compilers_stay_as_they_are() -> None:
    assert headings(pl.DataFrame({"my_device tensorrt_rtx": [1.5], "cpu mine_s:Exact": [2.5], "compile_s": [3.5]})) == [
        "my_device tensorrt_rtx", "cpu mine_s:Exact", "compile (s)",
    ]  # fmt: skip
