"""Options that say where results go."""

from __future__ import annotations

import pytest

from pytest_ngraph.plugin.options.reading import ONE, Declare, is_on

FILES_OF_FIGURES = ("json", "save", "autosave", "histogram", "compare")
"""Options of pytest-benchmark, without their prefix, that write or compare the figures of every test."""


def declare(add: Declare) -> None:
    """Add the options and their ini keys."""
    add(
        "--ngraph-store",
        "ngraph_store",
        "Folder of the recorded runs. Default: .ngraph in pytest's root folder",
        metavar="DIR",
        **ONE,
    )
    add(
        "--ngraph-report",
        "ngraph_report",
        "Write every table and figure of the run into this folder, and a page that shows them",
        metavar="DIR",
        **ONE,
    )
    add(
        "--ngraph-summary",
        "ngraph_summary",
        "Write the result of the run as Markdown for a pull request, and as JSON beside it",
        metavar="FILE",
        **ONE,
    )
    add(
        "--ngraph-history-url",
        "ngraph_history_url",
        "Address of the page that `pytest-ngraph history -o DIR` writes: the summary links each case to it",
        metavar="URL",
        **ONE,
    )


def reads_figures(config: pytest.Config) -> bool:
    """Whether an option writes the figures of every case: the report, and files of pytest-benchmark."""
    return is_on(config, "report") or any(config.getoption(f"benchmark_{name}", None) for name in FILES_OF_FIGURES)
