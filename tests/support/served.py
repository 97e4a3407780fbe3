"""Run a deployed folder in a process of its own, in which chosen modules cannot be imported."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

OWN = "pytest_ngraph"
WITHOUT = """
import runpy, sys

class Blocking:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in BLOCKED:
            raise ModuleNotFoundError(f"{name} is not installed", name=name)

BLOCKED, script, *arguments = sys.argv[1].split(","), *sys.argv[2:]
sys.meta_path.insert(0, Blocking())
sys.argv = [script, *arguments]
"""
SOON_OVER = """
import time

actual = time.perf_counter
time.perf_counter = lambda: 30 * actual()  # what takes the throughput for three seconds takes a tenth of one
"""
AS_SCRIPT = WITHOUT + SOON_OVER + "runpy.run_path(script, run_name='__main__')\n"
THEN_IMPORTED = AS_SCRIPT + (
    "sys.path.insert(0, script.rpartition('/')[0])\n"
    "import serve\n"
    "model = serve.load()\n"
    "for _ in range(2):\n"
    "    outputs = serve.answer(model, serve.samples())\n"
    "print(type(outputs).__name__, [(type(each).__name__, *each.shape) for each in outputs])\n"
    "print(sorted({'pytest', *BLOCKED} & set(sys.modules)))\n"
)


def check(folder: Path, *without: str) -> subprocess.CompletedProcess[str]:
    """Run the folder's check where neither pytest-ngraph nor these modules can be imported."""
    return _python(AS_SCRIPT, folder, without, "--check")


def check_and_import(folder: Path, *without: str) -> subprocess.CompletedProcess[str]:
    """Run the check in the same way; then import the script, let it answer twice, and print what the outputs are."""
    return _python(THEN_IMPORTED, folder, without, "--check")


def _python(code: str, folder: Path, without: tuple[str, ...], *arguments: str) -> subprocess.CompletedProcess[str]:
    blocked = ",".join((OWN, *without))
    command = [sys.executable, "-I", "-c", code, blocked, str(folder / "serve.py"), *arguments]
    return subprocess.run(command, cwd="/", capture_output=True, text=True, check=False)
