"""The report that a run leaves: `--ngraph-report=DIR`."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_ngraph.errors import NgraphError
from pytest_ngraph.plugin.fixtures import SESSION
from pytest_ngraph.report import study
from pytest_ngraph.session.session import Session
from pytest_ngraph.wording import seen_from

FOLDER = pytest.StashKey[Path]()
TOLD = pytest.StashKey[str]()


def prepare(config: pytest.Config) -> None:
    """Find out whether a report is to be written. Raise an error when it could not be: better before than after."""
    options = config.stash[SESSION].options
    if options.report is not None and options.measures:
        study.check(options.report)
        config.stash[FOLDER] = options.report


def write(config: pytest.Config) -> None:
    """Write the report of a session that is over, interrupted or not. What goes wrong is told and takes nothing with
    it: the records are in the store."""
    session = config.stash[SESSION]
    if FOLDER not in config.stash or not session.records:
        return
    folder = config.stash[FOLDER]
    try:
        page = _write(session, folder)
    except Exception as error:  # the libraries that draw share no base of their errors
        told = str(error) if isinstance(error, NgraphError | OSError) else f"{type(error).__name__}: {error}"
        config.stash[TOLD] = f"The report could not be written to {folder}: {told}"
    else:
        config.stash[TOLD] = f"Report: {seen_from(config.invocation_params.dir, page)}"


def tell(reporter: pytest.TerminalReporter) -> None:
    """Say where the report is, or why there is none."""
    if TOLD in reporter.config.stash:
        reporter.write_line(reporter.config.stash[TOLD])


def _write(session: Session, folder: Path) -> Path:
    from pytest_ngraph.metrics import DEFINITIONS
    from pytest_ngraph.report.study.data import Study

    conclusion = session.judging.conclusion
    every = conclusion.metrics if conclusion else ()
    own = [metric for metric in every if metric.name not in DEFINITIONS]
    return study.write(Study.of([session.run], own=own), folder)[0]
