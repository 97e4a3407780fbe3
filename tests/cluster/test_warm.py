"""A Python that starts warm is like one that starts cold."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import warm

pytestmark = pytest.mark.skipif(not warm.POSSIBLE, reason="this system has no descriptors of processes")
LOOKS = """
import json, os, signal, sys, tempfile
print(json.dumps({
    "arguments": sys.argv, "path": sys.path, "folder": os.getcwd(), "environment": dict(os.environ),
    "temporary": tempfile.gettempdir(), "name": __name__, "main": sys.modules["__main__"].__dict__ is globals(),
    "input": sys.stdin.read(), "interrupt": str(signal.getsignal(signal.SIGINT)),
    "imported": sorted(name for name in sys.modules if name.startswith("pytest_ngraph")),
}))
print("to stderr", file=sys.stderr)
sys.exit(3)
"""


def both(arguments: Sequence[str], folder: Path, **variables: str) -> list[tuple[int, Any, str]]:
    """Run a Python cold and warm. Return the status, what it printed as data, and its standard error, of each."""
    command, environment = [sys.executable, *arguments], dict(os.environ) | variables
    cold = subprocess.run(
        command, env=environment, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    with tempfile.TemporaryFile("w+") as stdout, tempfile.TemporaryFile("w+") as stderr:
        status = warm.start(command, environment, stdout, stderr, folder).wait(60)
        stdout.seek(0)
        stderr.seek(0)
        return [(cold.returncode, json.loads(cold.stdout), cold.stderr), (status, json.load(stdout), stderr.read())]


def test_it_has_the_same_arguments_path_environment_and_streams(tmp_path: Path) -> None:
    (tmp_path / "looks.py").write_text(LOOKS)
    variables = {"TMPDIR": str(tmp_path), "PYTHONPATH": f"{tmp_path}{os.pathsep}{Path(__file__).parent}"}
    for arguments in (["-c", LOOKS, "-x", "y"], ["-m", "looks", "--z"]):
        cold, started_warm = both(arguments, tmp_path, **variables)
        assert started_warm == cold
        assert (cold[0], cold[2]) == (3, "to stderr\n")


def test_it_imports_the_package_by_itself_and_has_the_engine(tmp_path: Path) -> None:
    code = "import json, sys; print(json.dumps([name in sys.modules for name in ('pytest_ngraph', 'distributed')]))"
    cold, started_warm = both(["-c", code], tmp_path)
    assert (cold[1], started_warm[1]) == ([False, False], [False, True])


def test_it_is_killed_and_interrupted(tmp_path: Path) -> None:
    code = "import time; print('begins', flush=True); time.sleep(60)"
    for number, status in ((signal.SIGKILL, -signal.SIGKILL), (signal.SIGINT, -signal.SIGINT)):
        with (tmp_path / "printed").open("w+") as printed:
            process = warm.start([sys.executable, "-c", code], os.environ, printed, printed)
            while "begins" not in (tmp_path / "printed").read_text():
                time.sleep(0.01)
            assert process.poll() is None
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(0)
            process.send_signal(number)
            assert process.wait(60) == process.poll() == status
