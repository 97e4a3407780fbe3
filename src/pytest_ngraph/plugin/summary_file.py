"""The summary for a pull request: Markdown, the same as data, and GitHub's step summary."""

from __future__ import annotations

import dataclasses
import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_ngraph.plugin.assembly import SESSION
from pytest_ngraph.plugin.outcomes import RESULT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ngraph.report.destinations import Destinations

STEP_SUMMARY = "GITHUB_STEP_SUMMARY"
"""Environment variable by which GitHub names the file whose Markdown it shows for a step."""
DESTINATIONS = pytest.StashKey["Destinations"]()
PROBLEMS = pytest.StashKey[list[str]]()


def prepare(config: pytest.Config) -> None:
    """Find out where to write at the end. Raise `UsageError` when that could not be written."""
    destinations = _destinations(config)
    if destinations is not None:
        destinations.check()
        config.stash[DESTINATIONS] = destinations


def publish(config: pytest.Config) -> None:
    """Write the summary of a session that is over. A file that cannot be written is reported, and nothing is lost."""
    destinations, result = config.stash.get(DESTINATIONS, None), config.stash.get(RESULT, None)
    if destinations is None or result is None:
        return
    from pytest_ngraph.against.revision import commits_since, head_of

    started = config.invocation_params
    head = head_of(started.dir)
    command = shlex.join(["pytest", *joined(list(map(str, started.args)), config)])
    gate = config.stash[SESSION].options.gate
    whole = dataclasses.replace(
        result,
        head=str(head) if head else "",
        command=command,
        **(commits_since(gate.against, started.dir)._asdict() if gate.against and not gate.history else {}),
        history=str(config.getoption("ngraph_history_url") or config.getini("ngraph_history_url") or ""),
    )
    config.stash[PROBLEMS] = destinations.write(whole)


def joined(arguments: Sequence[str], config: pytest.Config) -> list[str]:
    """Return the arguments of pytest with the values of our options, and those of JUnit, behind a `=`."""
    found: list[str] = []
    for argument in arguments:
        before = found[-1] if found else ""
        is_value = before.startswith("--junit") and "=" not in before
        if before.startswith("--ngraph-") and "=" not in before:
            given = config.getoption(before.removeprefix("--").replace("-", "_"), None)
            is_value = argument in (given if isinstance(given, list) else [given])
        if is_value:
            found[-1] = f"{before}={argument}"
        else:
            found.append(argument)
    return found


def show_problems(reporter: pytest.TerminalReporter) -> None:
    """Print which files could not be written, and why."""
    for problem in reporter.config.stash.get(PROBLEMS, []):
        reporter.write_line(problem, red=True, bold=True)


def _destinations(config: pytest.Config) -> Destinations | None:
    """Return where to write; None for nowhere. A step summary needs no option where the run has a base."""
    session = config.stash[SESSION]
    file = session.options.summary
    step_summary = os.environ.get(STEP_SUMMARY) if session.judgement.judges or file else None
    if not (session.options.measures and (file or step_summary)):
        return None
    from pytest_ngraph.report.destinations import Destinations

    return Destinations(file=file, step_summary=Path(step_summary) if step_summary else None)
