"""What a run leaves for a pull request: a summary in Markdown, the same as data, and GitHub's step summary."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_ngraph.plugin.fixtures import SESSION

if TYPE_CHECKING:
    from pytest_ngraph.report.destinations import Destinations
    from pytest_ngraph.report.result import RunResult
    from pytest_ngraph.session.session import Session

STEP_SUMMARY = "GITHUB_STEP_SUMMARY"
"""The environment variable by which GitHub names the file whose Markdown it shows for a step."""
DESTINATIONS = pytest.StashKey["Destinations"]()
PROBLEMS = pytest.StashKey[list[str]]()


def prepare(config: pytest.Config) -> None:
    """Find out where to write at the end. Raise `UsageError` when that could not be written."""
    destinations = _destinations(config)
    if destinations is not None:
        destinations.check()
        config.stash[DESTINATIONS] = destinations


def publish(config: pytest.Config) -> None:
    """Write the summary of a session that is over. What cannot be written is told and takes nothing with it."""
    if DESTINATIONS in config.stash:
        config.stash[PROBLEMS] = config.stash[DESTINATIONS].write(_result(config))


def tell(reporter: pytest.TerminalReporter) -> None:
    """Say what could not be written."""
    for problem in reporter.config.stash.get(PROBLEMS, []):
        reporter.write_line(problem, red=True, bold=True)


def _destinations(config: pytest.Config) -> Destinations | None:
    """Where to write; None when there is nothing to be written. A step summary needs no option once there is a base."""
    session = config.stash[SESSION]
    file = session.options.summary
    step_summary = os.environ.get(STEP_SUMMARY) if session.judging.judges or file else None
    if not (session.options.measures and (file or step_summary)):
        return None
    from pytest_ngraph.report.destinations import Destinations

    return Destinations(file=file, step_summary=Path(step_summary) if step_summary else None)


def _result(config: pytest.Config) -> RunResult:
    from pytest_ngraph.against.revision import head_of
    from pytest_ngraph.metrics import Metrics
    from pytest_ngraph.report.result import RunResult

    session = config.stash[SESSION]
    started = config.invocation_params
    head = head_of(started.dir)
    concluded = session.judging.conclusion
    return RunResult(
        run=session.run,
        metrics=concluded.metrics if concluded else Metrics(),
        verdicts=concluded.verdicts if concluded else (),
        metric_verdicts=concluded.metric_verdicts if concluded else (),
        breaches=[each.text for each in concluded.checks if each.outcome == "breached"] if concluded else (),
        problems=session.problems,
        unmeasured=session.unmeasured,
        bases=list(dict.fromkeys(_bases(session))),
        head=str(head) if head else "",
        command=shlex.join(["pytest", *map(str, started.args)]),
        notes=list(filter(None, _notes(session))),
    )


def _bases(session: Session) -> Iterable[str]:
    """What the session compares with: nothing, where it calibrates."""
    if session.against is not None and not session.options.gate.calibrate:
        yield session.against.origin.name
    conclusion = session.judging.conclusion
    for verdict in conclusion.verdicts if conclusion else ():
        yield verdict.against


def _notes(session: Session) -> Iterable[str]:
    yield from (judge.problem for judge in session.judging.judges)
    if session.against is not None:
        yield session.against.note
    if session.resumed is not None:
        yield from session.resumed.notes
