"""A browser that does not start: tests of pages are skipped, but not where CI has installed one for them."""

from __future__ import annotations

import os
from pathlib import Path

import browsing
import chromium
import pytest

sync_api = pytest.importorskip("playwright.sync_api")
CI = Path(__file__).parents[2] / ".ci" / "run"


@pytest.fixture(autouse=True)
def broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / chromium.NAMES[0]
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")


def test_without_a_browser_that_starts_tests_of_pages_are_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(browsing.REQUIRED, raising=False)
    with pytest.raises(pytest.skip.Exception, match="no browser: playwright install"), browsing.browser():
        pass


def test_where_ci_has_installed_one_they_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(browsing.REQUIRED, "1")
    with pytest.raises(sync_api.Error), browsing.browser():
        pass


def test_ci_requires_any_browser_that_the_tests_would_take() -> None:
    script = CI.read_text()
    assert f"export {browsing.REQUIRED}=1" in script
    assert " ".join(chromium.NAMES) in script
