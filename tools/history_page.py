"""A page of 400 series of 365 simulated nights, and how long Chromium takes to open it: `history_trials.py --page`."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import chromium
import numpy as np

from pytest_ngraph.case import Case
from pytest_ngraph.history import page, series
from pytest_ngraph.history.index import Index
from pytest_ngraph.history.summary import Origin, Ratio, Summary, write
from pytest_ngraph.stats import Estimate, Floats


def show(folder: Path, ratios: Floats, errors: Floats) -> None:
    """Write a page of 400 series of 365 nights, and print in how many seconds Chromium opens it.

    Args:
        folder: gets the page, and the store from which it is made.
        ratios: logarithms of times over the anchor's, shape (400, 365).
        errors: their standard errors, of the same shape.
    """
    models, compilers = (f"model{number:02}" for number in range(20)), ("identity", "inductor", "openvino", "tvm")
    cases = [
        Case(workload=model, compiler=compiler, batch_size=size, device="xeon")
        for model in models
        for compiler in compilers
        for size in (1, 2, 4, 8, 16)
    ]
    found = []
    for night in range(365):
        environment = {"processor": "Xeon", "torch": f"2.{14 + night // 120}.0", "python": "3.11.7"}
        source = {"commit": _commit(night), "branch": "main", "anchor": "v1.0", "anchor commit": _commit(-1)}
        origin = Origin(run=str(night), environment=environment, source=source)
        for number, of in enumerate(cases):
            log, error = float(ratios[number, night]), float(errors[number, night])
            summary = Summary(
                case_id=of.id,
                case=of.to_dict(),
                outcome="measured",
                started_at=1.76e9 + 86400 * night,
                latency=Estimate.exactly(0.01),
                ratio=Ratio(log, error, log - 2 * error, log + 2 * error),
            )
            found.append((origin, summary))
    write(folder / "summaries" / "nights.jsonl", found)
    with Index(folder) as index:
        _timed("index of 146,000 summaries", index.update)
        loaded = _timed("series with their steps", lambda: series.load(index))
        path = _timed("page", lambda: page.write(loaded, index, folder))
    print(f"{path}: {path.stat().st_size / 2**20:.1f} MiB, {len(loaded)} series")
    _open(path)


def _commit(night: int) -> str:
    return hashlib.sha256(str(night).encode()).hexdigest()[:40]


def _timed(what: str, do: Callable[[], Any]) -> Any:
    started = time.perf_counter()
    result = do()
    print(f"{what}: {time.perf_counter() - started:.2f} s")
    return result


def _open(path: Path) -> None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = chromium.launch(playwright)
        seconds = []
        for _ in range(5):
            tab = browser.new_page(viewport={"width": 1280, "height": 900})
            started = time.perf_counter()
            tab.goto(path.as_uri())
            tab.locator("body[data-ready]").wait_for()
            tab.locator(".spark .curve").first.wait_for()
            seconds.append(time.perf_counter() - started)
            tab.locator(".case button").first.click()
            tab.screenshot(path=path.with_suffix(".png"))
            tab.close()
        browser.close()
    print(f"opened in Chromium: {np.median(seconds):.2f} s, median of 5 ({min(seconds):.2f} to {max(seconds):.2f})")
