"""Open the report's page in a browser at three widths, and keep pictures of its first screen.

    python tools/report_screens.py FOLDER [--records=24,402,10000] [--pictures=docs/pictures]

The records are made up (`tools/synthetic_store.py`). Prints whether the page complains, or is wider than the window.
With `--pictures`, those of 402 records on a screen and on a phone are also put there. Needs Playwright and Chromium.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

import chromium
import synthetic_store
from playwright.sync_api import Browser, sync_playwright

from pytest_ngraph import store
from pytest_ngraph.report.study import page
from pytest_ngraph.report.study.data import Study
from pytest_ngraph.report.study.figures import FIGURES
from pytest_ngraph.report.study.tables import TABLES

SIZES = {1280: 800, 768: 1024, 390: 844}
"""Width and height of a screen, a tablet and a phone."""
PICTURED = 402


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--records", default="24,402,10000")
    parser.add_argument("--pictures", type=Path)
    parsed = parser.parse_args()
    with sync_playwright() as playwright:
        browser = chromium.launch(playwright)
        for count in map(int, parsed.records.split(",")):
            file = written(parsed.folder / str(count), count)
            for width, height in SIZES.items():
                picture = parsed.folder / f"report-{count}-{width}.png"
                print(f"{count:6,} records at {width:4} x {height}: {seen(browser, file, width, height, picture)}")
                if parsed.pictures and count == PICTURED and width in (max(SIZES), min(SIZES)):
                    shutil.copy(picture, parsed.pictures / f"report-{width}.png")
        browser.close()


def written(folder: Path, count: int) -> Path:
    """Write a report of so many records. Return its page."""
    folder.mkdir(parents=True, exist_ok=True)
    synthetic_store.write_store(folder, count, rounds=30)
    study = Study.of(store.read(folder, run) for run in store.run_ids(folder))
    made = [make(study) for make in FIGURES.values()]
    return page.write(study, made, [make(study) for make in TABLES.values()], folder)[0]


def seen(browser: Browser, file: Path, width: int, height: int, picture: Path) -> str:
    """Open the page and keep a picture of its first screen. Return what is wrong with it, or that nothing is."""
    tab = browser.new_page(viewport={"width": width, "height": height})
    wrong: list[str] = []
    tab.on("pageerror", lambda error: wrong.append(str(error)))
    tab.on("console", lambda message: wrong.append(message.text))
    tab.goto(file.absolute().as_uri())
    tab.locator("#answers").wait_for()
    tab.screenshot(path=picture)
    if tab.evaluate("document.documentElement.scrollWidth > window.innerWidth"):
        wrong.append("wider than the window")
    tab.close()
    return "; ".join(wrong) or "nothing complained, nothing is cut"


if __name__ == "__main__":
    main()
