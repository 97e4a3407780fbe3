"""The browser in which tests and tools open pages: an installed Chromium, or else the one of Playwright."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Playwright

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
"""Programs, the first of which that is installed is taken."""


def launch(playwright: Playwright) -> Browser:
    """Return the browser, started. Raises `playwright.sync_api.Error` where there is none, or it does not start."""
    installed = next(filter(None, map(shutil.which, NAMES)), None)
    return playwright.chromium.launch(executable_path=installed, args=["--no-sandbox"])
