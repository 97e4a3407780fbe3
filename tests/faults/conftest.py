"""The fault suite: one line for each fault at the end of the run, survived or not."""

from __future__ import annotations

from pathlib import Path

import pytest
from fault_project import Project

HERE = Path(__file__).parent


@pytest.fixture
def small(tmp_path: Path) -> Project:
    """Return a project of four cases, each in a group of its own."""
    return Project(tmp_path, workloads=["plain1", "plain2"], batch_sizes=[1, 2])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reports = [
        report
        for outcome in ("passed", "failed", "skipped")
        for report in terminalreporter.getreports(outcome)
        if report.nodeid.startswith("tests/faults/") and (report.when == "call" or report.skipped)
    ]
    if not reports:
        return
    terminalreporter.write_sep("-", "faults")
    words = {"passed": "survived", "failed": "NOT survived", "skipped": "not tried"}
    for report in reports:
        fault = report.nodeid.partition("::")[2].removeprefix("test_").replace("_", " ")
        terminalreporter.write_line(f"{words[report.outcome]:13} {fault}")
