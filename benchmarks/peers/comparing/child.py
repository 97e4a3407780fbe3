"""Programs of `programs/`, each in a process of its own, that measure on request."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

PROGRAMS = Path(__file__).parents[1] / "programs"


class Failed(Exception):
    """A program or a session ended with an error. The message is the last line that it printed."""


def last_line(printed: str) -> str:
    return printed.rstrip().rpartition("\n")[2]


def pytest_failure(printed: str) -> str:
    """Return why a pytest session failed: the first failure in its summary, else its last line."""
    failures = (line for line in printed.splitlines() if line.startswith(("FAILED ", "ERROR ")))
    return next(failures, last_line(printed))


def session_s(folder: Path, *options: str, environment: Mapping[str, str] | None = None) -> float:
    """Return the seconds of a pytest session on the tests in a folder.

    Args:
        folder: the folder.
        options: options of pytest.
        environment: changes to this process's environment.

    Raises:
        Failed: a test does not pass.
    """
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options]
    changed = os.environ | dict(environment or {}) | {"COLUMNS": "250"}  # pytest cuts reasons to the terminal's width
    begin = time.perf_counter()
    done = subprocess.run(command, cwd=folder, env=changed, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failed(pytest_failure(done.stdout + done.stderr))
    return time.perf_counter() - begin


class Child:
    """A running program that is ready to measure, and idle until asked.

    It runs in a temporary folder of its own, because optimum-benchmark leaves a log where it runs.

    Args:
        program: name of the program.
        python: the interpreter.
        environment: changes to this process's environment.
        given: the program's argument.

    Raises:
        Failed: the program ended before it was ready.
    """

    def __init__(
        self,
        program: str,
        *,
        python: Path = Path(sys.executable),
        environment: Mapping[str, str] | None = None,
        **given: Any,
    ) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="ngraph-peers-")
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 (closed with the process)
        self._process = subprocess.Popen(
            [str(python), str(PROGRAMS / f"{program}.py"), json.dumps(given)],
            cwd=self._folder.name,
            env=os.environ | dict(environment or {}),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )
        self._read()

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def ask(self) -> dict[str, float]:
        """Let the program measure and return its answer. Raise `Failed` if it ended."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # it has ended; `_read` reports why
            self._process.stdin.write("\n")
            self._process.stdin.flush()
        answer: dict[str, float] = json.loads(self._read())
        return answer

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()
        self._errors.close()
        self._folder.cleanup()

    def _read(self) -> str:
        """Return the next line that the program prints."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if line:
            return line
        self._process.wait()
        self._errors.seek(0)
        last = last_line(self._errors.read())
        self.close()
        raise Failed(last or "it ended without a message")
