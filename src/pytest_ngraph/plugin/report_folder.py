"""The report that a run leaves: `--ngraph-report=DIR`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_ngraph.errors import NgraphError
from pytest_ngraph.plugin.assembly import SESSION
from pytest_ngraph.plugin.outcomes import RESULT
from pytest_ngraph.report import study
from pytest_ngraph.wording import seen_from

if TYPE_CHECKING:
    from pytest_ngraph.report.result import RunResult

FOLDER = pytest.StashKey[Path]()
PLACE = pytest.StashKey[str]()


def prepare(config: pytest.Config) -> None:
    """Find out whether a report is to be written. Raise an error when it could not be: better before than after."""
    options = config.stash[SESSION].options
    if options.report is not None and options.measures:
        study.check(options.report)
        config.stash[FOLDER] = options.report


def write(config: pytest.Config) -> None:
    """Write the report of a session that is over, interrupted or not.

    An error is reported and loses nothing: the records are in the store.
    """
    folder, result = config.stash.get(FOLDER, None), config.stash.get(RESULT, None)
    if folder is None or result is None or not result.run.records:
        return
    try:
        page = _write(result, folder)
    except Exception as error:  # the libraries that draw share no base of their errors
        reason = str(error) if isinstance(error, NgraphError | OSError) else f"{type(error).__name__}: {error}"
        config.stash[PLACE] = f"The report could not be written to {folder}: {reason}"
    else:
        config.stash[PLACE] = f"Report: {seen_from(config.invocation_params.dir, page)}"


def show_place(reporter: pytest.TerminalReporter) -> None:
    """Print where the report is, or why there is none."""
    if PLACE in reporter.config.stash:
        reporter.write_line(reporter.config.stash[PLACE])


def _write(result: RunResult, folder: Path) -> Path:
    from pytest_ngraph.metrics import DEFINITIONS
    from pytest_ngraph.report.study.data import Study

    own = [metric for metric in result.metrics if metric.name not in DEFINITIONS]
    return study.write(Study.of([result.run], own=own, between=lambda machines: result.metrics.between), folder)[0]
