"""A browser for the tests of pages. Without one they are skipped, unless the environment says that there is one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import chromium
import pytest

REQUIRED = "TESTS_REQUIRE_BROWSER"
"""Variable of the environment: if set, a browser that cannot be started fails the tests."""


@contextmanager
def browser() -> Iterator[Any]:
    """Launch an installed Chromium, or else the one that Playwright has installed."""
    if os.environ.get(REQUIRED):
        from playwright import sync_api
    else:
        sync_api = pytest.importorskip(
            "playwright.sync_api", reason="the browser test needs playwright: pip install playwright"
        )
    with sync_api.sync_playwright() as playwright:
        try:
            launched = chromium.launch(playwright)
        except sync_api.Error as error:
            if os.environ.get(REQUIRED):
                raise
            pytest.skip(f"no browser: playwright install chromium-headless-shell ({error.message.splitlines()[0]})")
        yield launched
        launched.close()
