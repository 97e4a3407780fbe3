from __future__ import annotations

import json
import math
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import profiled
import pytest
from drawing import HOSTILE, UNDRAWN, hostile_study
from synthetic import case, measured

from pytest_ngraph.report.study.data import Study
from pytest_ngraph.report.study.figures import FIGURES
from pytest_ngraph.report.study.page import contents, render, write
from pytest_ngraph.report.study.page.cases import file_of
from pytest_ngraph.report.study.tables import TABLES
from pytest_ngraph.store import Run


class Page(HTMLParser):
    """The elements of a page, its visible text, and the data in its scripts."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.visible: list[str] = []
        self.data: list[str] = []
        self._within: tuple[str, dict[str, str | None]] = ("", {})
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._within = (tag, dict(attrs))
        self.elements.append(self._within)

    def handle_endtag(self, tag: str) -> None:
        self._within = ("", {})

    def handle_data(self, data: str) -> None:
        tag, attributes = self._within
        if attributes.get("type") == "application/json":
            self.data.append(data)
        elif tag not in ("script", "style"):
            self.visible.append(data)

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", " ".join(self.visible))


def page_of(study: Study) -> Page:
    figures = [make(study) for make in FIGURES.values()]
    return Page(render(study, figures, [make(study) for make in TABLES.values()]))


@pytest.fixture(scope="module")
def page(synthetic: Study) -> Page:
    return page_of(synthetic)


def test_nothing_on_the_page_comes_from_elsewhere(page: Page) -> None:
    addresses = [
        value for _, attributes in page.elements for name, value in attributes.items() if name in ("src", "href")
    ]
    assert addresses
    assert all(address is not None and address.startswith("#") for address in addresses), "links within the page"
    (policy,) = [a["content"] for _, a in page.elements if a.get("http-equiv") == "Content-Security-Policy"]
    assert policy is not None
    assert policy.startswith("default-src 'none'")
    assert "http" not in policy


def test_the_page_holds_every_figure_as_data(page: Page, synthetic: Study) -> None:
    specs = [json.loads(text) for text in page.data]
    drawn = [attributes["data-figure"] for tag, attributes in page.elements if tag == "figure"]
    assert drawn == [name for name in FIGURES if name not in UNDRAWN]
    assert len(specs) == len(drawn)
    assert all({"name": "show_intervals", "value": True} in spec["params"] for spec in specs)
    assert "Throughput since before, cell by cell: needs an earlier store to compare with" in page.text


def test_what_cannot_be_drawn_is_one_folded_line(page: Page) -> None:
    folded = [
        attributes for tag, attributes in page.elements if tag == "details" and attributes.get("class") == "folded"
    ]
    assert len(folded) == 2, "one of figures, one of tables"
    assert "open" not in folded[0]
    assert f"{len(UNDRAWN)} not drawn: " in page.text
    headings = {attributes.get("id") for tag, attributes in page.elements if tag == "h3"}
    assert headings.isdisjoint(UNDRAWN)


def test_the_first_screen_says_what_was_measured_and_what_follows(page: Page) -> None:
    assert "1,230: 1,166 measured, 48 skipped, 16 failed" in page.text
    assert "Intel Xeon, 8 logical CPUs, 32.0 GiB" in page.text
    assert "tensorrt is fastest in 75" in page.text


def test_failures_are_shown_with_their_reason(page: Page) -> None:
    assert "failed in compile: NotImplementedError: roll" in page.text
    assert "TensorRT has no plugin for it" in page.text


def test_the_reader_can_filter_by_all_fields(page: Page) -> None:
    hides = [attributes["data-hides"] for tag, attributes in page.elements if "data-hides" in attributes]
    assert hides == ["hidden_device", "hidden_compiler", "hidden_family", "hidden_batch_size"]


def test_numbers_sort_by_value_and_not_by_text(page: Page) -> None:
    orders = [a["data-order"] for tag, a in page.elements if tag == "td" and "data-order" in a]
    assert orders
    assert all(order == "" or math.isfinite(float(order or "nan")) for order in orders)


def test_hostile_names_are_text_wherever_they_stand() -> None:
    page = page_of(hostile_study())
    scripts = [attributes.get("type") for tag, attributes in page.elements if tag == "script"]
    assert [kind for kind in scripts if kind != "application/json"] == [None, "module"]
    assert not [tag for tag, _ in page.elements if tag == "b"]
    assert any(HOSTILE in text for text in page.visible)
    assert any('alert(\\"' in json.dumps(json.loads(data)) for data in page.data)


def test_a_long_table_is_cut_and_says_where_the_rest_is(synthetic: Study) -> None:
    sheet = contents.sheet(TABLES["inversions"](synthetic))
    assert len(sheet.rows) == contents.MOST_ROWS
    assert sheet.cut.endswith("tables/inversions.csv has all.")


def test_devices_keep_their_names_in_the_environment() -> None:
    names = ("box_s", "jetson_orin", "key")
    runs = [Run(id=each, environment={"cpu": each}, records=(measured(case(device=each), 0.1),)) for each in names]
    shown = contents.environment(Study.of(runs))
    assert shown.headings == ["key", "device box_s", "device jetson_orin", "device key"]
    assert [text for text, _ in shown.rows[0]] == ["cpu", *names]


def test_an_empty_study_makes_a_page_that_says_what_is_missing() -> None:
    page = page_of(Study())
    assert "Nothing yet" in page.text
    assert "Throughput, compiled against uncompiled: needs a measured model" in page.text


def test_the_page_leads_to_those_of_cases_and_says_why_one_has_none(tmp_path: Path) -> None:
    refused = measured(case("tensorrt"), 0.1, profile={"problem": "only on a GPU"})
    hostile = profiled.profiled(case(HOSTILE, workload="../../net"), profiled.residual(), 0.1)
    study = Study.of([Run(id="1", environment={}, records=(hostile, refused, measured(case("tvm"), 0.1)))])
    index, of_case = write(study, [], [], tmp_path)
    shown = Page(index.read_text())
    hrefs = [attributes["href"] for tag, attributes in shown.elements if tag == "a"]
    (link,) = [href for href in hrefs if href is not None and not href.startswith("#")]
    assert (tmp_path / unquote(link)).resolve() == of_case
    assert of_case.parent == tmp_path / "cases"
    assert "tensorrt was not profiled: only on a GPU" in shown.text
    assert "tvm was not" not in shown.text
    opened = Page(of_case.read_text())
    assert HOSTILE in "".join(opened.visible)
    assert "95 % of that was profiled" in opened.text
    assert not [attributes for tag, attributes in opened.elements if tag == "script" and attributes]


def test_ids_that_are_no_names_of_files_stay_apart() -> None:
    assert file_of("resnet18-tvm-b1-cpu") == "resnet18-tvm-b1-cpu.html"
    assert len({file_of(each) for each in ("a/b", "a:b", "a_b", "x" * 200, "x" * 201)}) == 5
    assert len(file_of("模" * 95 + "-openvino-b1-cpu").encode()) < 255
