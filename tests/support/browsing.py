"""A browser for the tests of pages; they are skipped where there is none."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")


@contextmanager
def browser() -> Iterator[Any]:
    """Launch an installed Chromium, or else the one that Playwright has installed."""
    sync_api = pytest.importorskip(
        "playwright.sync_api", reason="the browser test needs playwright: pip install playwright"
    )
    with sync_api.sync_playwright() as playwright:
        installed = next(filter(None, map(shutil.which, BROWSERS)), None)
        try:
            launched = playwright.chromium.launch(executable_path=installed, args=["--no-sandbox"])
        except sync_api.Error as error:
            pytest.skip(f"no browser: playwright install chromium-headless-shell ({error.message.splitlines()[0]})")
        yield launched
        launched.close()
