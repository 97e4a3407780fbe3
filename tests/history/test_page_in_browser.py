"""The page of a history in a real browser: skipped where there is none."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import quote

import browsing
import nights
import numpy as np
from synthetic import case

from pytest_ngraph.history import page, series
from pytest_ngraph.history.index import Index
from pytest_ngraph.history.summary import Origin, Ratio, Summary, write
from pytest_ngraph.stats import Estimate

HOSTILE = "</script><img src=x onerror=alert(1)>"
NIGHTS, STEP = 60, 40


def written(store: Path) -> Path:
    """Write the page of four cases, one with a step and one with a hostile name, on two devices."""
    random = np.random.default_rng(0)
    cases = {
        case("openvino", device="xeon"): 0.05,
        case("tvm", device="xeon"): 0.0,
        case("openvino", device="orin"): -0.04,
        case("tvm", device="orin", workload=HOSTILE): 0.0,
    }
    found = []
    for night in range(NIGHTS):
        torch = "2.15.0" if night >= STEP else "2.14.0"
        origin = Origin(
            run=str(night),
            environment=nights.ENVIRONMENT | {"torch": torch},
            source={"commit": nights.commit(night), "anchor": "v1", "anchor commit": "a" * 40},
        )
        for of, step in cases.items():
            log = float(random.normal(0, 0.003)) + step * (night >= STEP)
            found.append(
                (
                    origin,
                    Summary(
                        case_id=of.id,
                        case=of.to_dict(),
                        outcome="measured",
                        started_at=1.76e9 + 86400 * night,
                        latency=Estimate.exactly(0.01),
                        ratio=Ratio(log, 0.003, log - 0.006, log + 0.006),
                    ),
                )
            )
    write(store / "summaries" / "nights.jsonl", found)
    with Index(store) as index:
        index.update()
        return page.write(series.load(index), index, store / "page")


def test_cases_are_found_and_opened_without_network_and_complaints(tmp_path: Path) -> None:
    file = written(tmp_path)
    with browsing.browser() as browser:
        requests, complaints = _used(browser.new_page(viewport={"width": 1280, "height": 900}), file)
    assert requests == {file.as_uri()}
    assert complaints == []


def _used(tab: Any, file: Path) -> tuple[set[str], list[str]]:
    """Use the page as a reader would. Return what was requested, and the browser's complaints."""
    requests: list[str] = []
    complaints: list[str] = []
    tab.on("request", lambda request: requests.append(request.url))
    tab.on("pageerror", lambda error: complaints.append(str(error)))
    tab.on("console", lambda message: complaints.append(message.text))
    tab.goto(file.as_uri())
    tab.locator("body[data-ready]").wait_for()
    lines = tab.locator(".case:visible")
    assert tab.locator("#summary").inner_text() == "4 of 4 cases, 2 steps"
    assert tab.locator(".spark .curve").count() == 4
    assert tab.locator(".spark .mark.slower").count() == 1
    assert tab.locator(".spark .mark.faster").count() == 1
    assert "slower since" in lines.first.text_content() or "faster since" in lines.first.text_content()

    tab.locator("#device").select_option(label="orin")
    assert lines.count() == 2
    assert tab.locator("#summary").inner_text() == "2 of 4 cases, 1 step"
    tab.locator("#stepped").check()
    assert lines.count() == 1
    assert tab.locator("#summary").inner_text() == "1 of 4 cases, 1 step"
    tab.locator("#device").select_option(label="every device")
    tab.locator("#search").fill("openvino xeon")
    assert lines.count() == 1

    lines.first.locator("button").click()
    panel = lines.first.locator(".open")
    assert panel.locator(".step strong").inner_text().startswith("5.")
    assert "torch 2.14.0 -> 2.15.0" in panel.locator(".step").inner_text()
    good, bad = nights.commit(STEP - 1)[:12], nights.commit(STEP)[:12]
    command = f"pytest-ngraph bisect {good} {bad} --case resnet18-openvino-b1-xeon -- --device=xeon"
    assert panel.locator("code").inner_text() == command
    assert panel.locator(".nights .changed").count() == 1
    panel.locator(".nights").hover()
    assert "95 % interval" in panel.locator(".under").inner_text()
    lines.first.locator("button").click()
    assert panel.count() == 0

    tab.locator("#stepped").uncheck()
    tab.locator("#search").fill("onerror")
    assert HOSTILE in lines.first.text_content()
    tab.goto(f"{file.as_uri()}#{quote('resnet18-openvino-b1-orin')}")  # as a pull request's summary links it
    lines.locator(".open").wait_for()
    assert lines.count() == 1
    assert "resnet18-openvino-b1-orin" in lines.first.text_content()
    tab.locator("#device").select_option(label="orin")
    tab.locator("#stepped").check()
    tab.goto(f"{file.as_uri()}#{quote('resnet18-tvm-b1-xeon')}")  # of another device, and without a step
    lines.filter(has_text="resnet18-tvm-b1-xeon").locator(".open").wait_for()
    assert tab.locator("#device").input_value() == ""
    assert tab.locator("#summary").inner_text() == "1 of 4 cases, 0 steps"
    return set(requests), complaints
