"""Where only the plugin is installed, no run of pytest may break: Windows, macOS, and Python without its global lock.

None of them is at hand. A child interpreter lacks the modules, functions and files that they lack (`other_system.py`);
the workers that it starts are this system's own.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SUPPORT = Path(__file__).parents[1] / "support"
TESTS = """
import pytest

def test_plain():
    pass

@pytest.mark.ngraph(workload="conv", compiler="identity", batch_size=1, depth=1, width=16)
def test_marked(measurement):
    pass
"""
NO_LOCKS = "pytest-ngraph measures on Linux and macOS: this system (win32) has no POSIX locks and process groups. "
NO_GIL = "pytest-ngraph measures under Python's global lock (GIL), with which models are served, and this "


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a folder with a plain test and a marked one, and a store with a run that was not finished."""
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_both.py").write_text(TESTS)
    run = tmp_path / ".ngraph" / "20261125-080000-000001.jsonl"
    run.parent.mkdir()
    run.write_text("")
    return tmp_path


def _run(system: str, folder: Path, *arguments: str) -> str:
    """Run pytest as on this system, and return what it prints. The run must not fail."""
    command = [sys.executable, str(SUPPORT / "other_system.py"), system, "--capture=sys", "-rs", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return " ".join(done.stdout.split())


@pytest.mark.parametrize(("system", "reason"), [("win32", NO_LOCKS), ("free-threaded", NO_GIL)])
def test_where_nothing_can_be_measured_marked_tests_skip_with_the_reason(
    system: str, reason: str, project: Path
) -> None:
    printed = _run(system, project)
    assert "1 passed, 1 skipped" in printed
    assert printed.count(reason) == 2  # in the header, and as the reason


@pytest.mark.parametrize("system", ["win32", "darwin"])
def test_help_and_collecting_work(system: str, project: Path) -> None:
    assert "--ngraph-against" in _run(system, project, "--help")
    assert "test_marked[conv-identity-b1-d1-w16-cpu]" in _run(system, project, "--collect-only", "-q")


def test_macos_measures_in_workers_and_says_what_it_does_not_offer(project: Path) -> None:
    assert "2 passed" in _run("darwin", project, "--benchmark-disable")
    code = "import json; from other_system import become; become('darwin'); " + (
        "from pytest_ngraph.machine.machine import environment; print(json.dumps(environment()))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=SUPPORT, capture_output=True, text=True, check=True)
    facts = json.loads(done.stdout)
    assert facts["not offered by the system"] == (
        "threads are not bound to cores; CPU pressure is not reported; steal is not reported; peak memory includes "
        "compiling and earlier cases; machines with other processors may have the same fingerprint"
    )
