"""The page in a real browser: skipped where there is none."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import browsing
import polars as pl
import profiled
import pytest
from drawing import UNDRAWN, hostile_study
from synthetic import case, measured, under_load

from pytest_ngraph.report.study import page
from pytest_ngraph.report.study.data import Study
from pytest_ngraph.report.study.figures import FIGURES
from pytest_ngraph.report.study.tables import TABLES, Table
from pytest_ngraph.store import Run

WIDE, PHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 844}
TOO_WIDE = "figure => figure.querySelector('svg').getBoundingClientRect().width - figure.clientWidth"
SCHEMES = {WIDE["width"]: "light", PHONE["width"]: "dark"}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with browsing.browser() as launched:
        yield launched


@pytest.fixture(scope="module")
def file(synthetic: Study, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(synthetic, tmp_path_factory.mktemp("page"))


def written(study: Study, folder: Path) -> Path:
    figures = [make(study) for make in FIGURES.values()]
    return page.write(study, figures, [make(study) for make in TABLES.values()], folder)[0]


class Opened:
    """An open page, with its requests and its complaints (errors and console messages).

    Args:
        tab: where it opens, in place of what was open there.
    """

    def __init__(self, tab: Any, file: Path, viewport: dict[str, int]) -> None:
        self.tab = tab
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self._listeners = {
            "request": lambda request: self.requests.append(request.url),
            "pageerror": lambda error: self.complaints.append(str(error)),
            "console": lambda message: self.complaints.append(message.text),
        }
        tab.goto("about:blank")
        tab.set_viewport_size(viewport)
        tab.emulate_media(color_scheme=SCHEMES[viewport["width"]])
        tab.mouse.move(0, 0)
        for event, listener in self._listeners.items():
            tab.on(event, listener)
        tab.goto(file.as_uri())

    def leave(self) -> None:
        """Listen to the tab no longer."""
        for event, listener in self._listeners.items():
            self.tab.remove_listener(event, listener)

    def figure(self, name: str) -> Any:
        """Return a figure once it is drawn."""
        figure = self.tab.locator(f"figure[data-figure={name}]")
        figure.scroll_into_view_if_needed()
        self.tab.locator(f"figure[data-figure={name}][data-drawn]").wait_for()
        return figure


Open = Callable[..., Opened]
Drawn = Callable[[dict[str, int]], Opened]
each_size = pytest.mark.parametrize("viewport", [WIDE, PHONE], ids=["wide", "phone"])


@pytest.fixture(scope="module")
def drawn(browser: Any, file: Path) -> Drawn:
    """Return a function that opens the page, once for each size of the window, for tests that change nothing."""
    pages: dict[int, Opened] = {}

    def of(viewport: dict[str, int]) -> Opened:
        width = viewport["width"]
        if width not in pages:
            pages[width] = Opened(browser.new_page(), file, viewport)
        pages[width].tab.evaluate("window.scrollTo(0, 0)")
        return pages[width]

    return of


@pytest.fixture(scope="module")
def tab(browser: Any) -> Any:
    """Return a tab for one page after the other: a new one for each takes longer than what most tests do with it."""
    return browser.new_page()


@pytest.fixture
def open_page(tab: Any) -> Iterator[Open]:
    """Return a function that opens a page for one test."""
    with ExitStack() as opened:

        def of(file: Path, viewport: dict[str, int] = WIDE) -> Opened:
            page = Opened(tab, file, viewport)
            opened.callback(page.leave)
            return page

        yield of


@each_size
def test_the_first_screen_has_the_answer(drawn: Drawn, viewport: dict[str, int]) -> None:
    opened = drawn(viewport)
    for element in ("#answers h2", ".answer:not(.goals) >> nth=0", ".counts a >> nth=3"):
        box = opened.tab.locator(element).bounding_box()
        assert box["y"] + box["height"] <= viewport["height"]


@each_size
def test_each_choice_stands_under_the_heading_of_its_goal(
    open_page: Open, viewport: dict[str, int], tmp_path: Path
) -> None:
    """A workload that was measured for throughput only has no lowest latency."""
    records = [
        measured(case(name, objective="throughput"), 0.1 * place) for place, name in enumerate(("tvm", "identity"), 1)
    ]
    study = Study.of([Run(id="1", records=(*records, under_load("openvino", 0.01, 50, 51, 50)))])
    opened = open_page(page.write(study, [], [], tmp_path)[0], viewport)
    choice, rate = (
        opened.tab.locator(f".answer:not(.goals) > .{goal}") for goal in ("highest-throughput", "highest-rate")
    )
    assert "objective throughput" in choice.inner_text()
    assert "highest rate: openvino" in rate.inner_text()
    if viewport == WIDE:
        heading = opened.tab.locator(".goals > div", has_text="highest throughput")
        assert choice.bounding_box()["x"] == heading.bounding_box()["x"]
        assert not choice.locator(".goal").is_visible()
    else:
        assert "highest throughput: tvm" in choice.inner_text()
    network = opened.tab.locator(".network")
    assert network.bounding_box()["y"] <= rate.bounding_box()["y"] < choice.bounding_box()["y"]


@each_size
def test_figures_and_tables_work_without_network_and_complaints(
    drawn: Drawn, file: Path, viewport: dict[str, int]
) -> None:
    opened = drawn(viewport)
    for name in FIGURES:
        if name not in UNDRAWN:
            figure = opened.figure(name)
            assert figure.locator("svg path").count() > 0
            assert figure.evaluate(TOO_WIDE) <= 0, name
    opened.tab.locator("#failures").scroll_into_view_if_needed()
    opened.tab.locator("section:has(#failures) .dt-search").wait_for()
    assert [address for address in opened.requests if not address.startswith("data:")] == [file.as_uri()]
    assert opened.complaints == []
    assert opened.tab.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


@each_size
def test_panels_fill_the_width_and_their_labels_do_not_overlap(drawn: Drawn, viewport: dict[str, int]) -> None:
    opened = drawn(viewport)
    for name in ("pareto_memory", "throughput_blocks"):
        figure = opened.figure(name)
        room, width = figure.evaluate(
            "figure => [figure.clientWidth, figure.querySelector('svg').getBoundingClientRect().width]"
        )
        assert 0.9 * room < width <= room
    labels = opened.figure("pareto_memory").locator(".mark-text.role-mark text")
    boxes = labels.evaluate_all("texts => texts.map((text) => text.getBoundingClientRect().toJSON())")
    assert len(boxes) > 45
    assert [(one, other) for one, other in combinations(boxes, 2) if overlap(one, other, 2)] == []


def test_filters_and_intervals_reach_the_figures(open_page: Open, synthetic: Study, tmp_path: Path) -> None:
    opened = open_page(page.write(synthetic, [FIGURES["throughput"](synthetic)], [], tmp_path)[0])
    figure = opened.figure("throughput")
    panels = figure.locator("svg tspan").get_by_text("orin", exact=True)
    assert panels.count() == 15
    opened.tab.locator("details[data-hides=hidden_device] summary").click()
    opened.tab.locator("details[data-hides=hidden_device] input[value=orin]").uncheck()
    panels.first.wait_for(state="detached")
    assert figure.locator("svg tspan").get_by_text("xeon", exact=True).count() == 15
    intervals = figure.locator(".mark-rule.role-mark line")
    assert intervals.first.get_attribute("opacity") == "0.8"
    opened.tab.locator("input[data-shows]").uncheck()
    figure.locator(".mark-rule.role-mark line[opacity='0']").first.wait_for(state="attached")


def test_tables_sort_by_number(open_page: Open, synthetic: Study, tmp_path: Path) -> None:
    opened = open_page(page.write(synthetic, [], [TABLES["architectures"](synthetic)], tmp_path)[0])
    table = opened.tab.locator("section:has(#architectures) table.dataTable")
    opened.tab.locator("#architectures").scroll_into_view_if_needed()
    table.wait_for()
    parameters = table.locator("th", has_text="parameters")
    column = 1 + table.locator("th").all_text_contents().index(parameters.text_content())
    parameters.click()
    opened.tab.wait_for_function("document.querySelector('section:has(#architectures) th[aria-sort=ascending]')")
    shown = [int(text.replace(",", "")) for text in table.locator(f"tbody td:nth-child({column})").all_text_contents()]
    assert shown == sorted(shown)


def test_a_column_with_infinity_sorts_by_number(open_page: Open, tmp_path: Path) -> None:
    values = [30000.5, math.inf, 9.5, 1000.5]
    table = Table.of("paid", "Paid back", "", pl.DataFrame({"samples": values}), missing="")
    opened = open_page(page.write(Study(), [], [table], tmp_path)[0])
    shown = opened.tab.locator("section:has(#paid) table.dataTable")
    opened.tab.locator("#paid").scroll_into_view_if_needed()
    shown.wait_for()
    shown.locator("th").click()
    opened.tab.wait_for_function("document.querySelector('section:has(#paid) th[aria-sort=ascending]')")
    assert shown.locator("tbody td").all_text_contents() == ["9.50", "1000", "30000", "infinite"]


def test_hostile_names_run_nothing(open_page: Open, tmp_path: Path) -> None:
    opened = open_page(written(hostile_study(), tmp_path))
    asked: list[str] = []
    opened.tab.on("dialog", lambda dialog: asked.append(dialog.message))
    figure = opened.figure("throughput")
    figure.locator(".mark-symbol path").first.hover(force=True)
    opened.tab.locator("#vg-tooltip-element.visible").wait_for()
    assert "alert" in opened.tab.locator("#vg-tooltip-element").inner_text()
    assert asked == []
    assert opened.tab.locator("#vg-tooltip-element b, #vg-tooltip-element script").count() == 0


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], Path]:
    """Return a function that writes the page with the parts of cases under so many compilers, once."""

    @cache
    def of(compilers: int) -> Path:
        study = profiled.study([*profiled.SPEED][:compilers])
        return page.write(study, [FIGURES["parts"](study)], [], tmp_path_factory.mktemp("parts"))[0]

    return of


@pytest.mark.parametrize("compilers", [1, 2, 8])
@each_size
def test_labels_of_parts_do_not_overlap(
    open_page: Open, viewport: dict[str, int], compilers: int, parts: Callable[[int], Path]
) -> None:
    opened = open_page(parts(compilers), viewport)
    figure = opened.figure("parts")
    boxes = figure.locator("svg text").evaluate_all(
        "texts => texts.filter((text) => text.textContent).map((text) => text.getBoundingClientRect().toJSON())"
    )
    assert len(boxes) > 10 * compilers
    overlapping = [(one, other) for place, one in enumerate(boxes) for other in boxes[:place] if overlap(one, other)]
    assert overlapping == []
    assert figure.locator(".chart").evaluate("chart => chart.scrollWidth <= chart.clientWidth")
    assert opened.complaints == []


def overlap(one: dict[str, float], other: dict[str, float], least: float = 1) -> bool:
    """Return whether two boxes share more than some pixels in both directions."""
    return all(
        min(one[end], other[end]) - max(one[begin], other[begin]) > least
        for begin, end in (("left", "right"), ("top", "bottom"))
    )


@each_size
def test_a_page_of_a_case_opens_and_closes_its_modules(
    open_page: Open, viewport: dict[str, int], tmp_path: Path
) -> None:
    file, *_ = page.write(profiled.study(["identity", "openvino"]), [], [], tmp_path)
    opened = open_page(file, viewport)
    opened.tab.locator(".workloads a", has_text="openvino").first.click()
    opened.tab.locator("#tree").wait_for()
    layer = opened.tab.locator("summary", has_text="layer1").first
    kernels = opened.tab.locator(".kernels:visible")
    opened.tab.locator("button[value=none]").click()
    assert kernels.count() == 0
    opened.tab.locator("button[value=all]").click()
    everything = kernels.count()
    layer.click()
    assert 0 < kernels.count() < everything
    bar, network = (opened.tab.locator("i.module").nth(place).bounding_box() for place in (1, 0))
    assert network["x"] <= bar["x"]
    assert bar["width"] < network["width"]
    assert opened.tab.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    opened.tab.locator("a", has_text="identity").click()
    opened.tab.locator("h1", has_text="identity").wait_for()
    assert all(address.startswith(("data:", file.parent.as_uri())) for address in opened.requests)
    assert opened.complaints == []
