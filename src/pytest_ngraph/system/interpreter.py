"""Ask another Python interpreter: run a script in it, and read the JSON of its last line."""

from __future__ import annotations

import json
import subprocess
from typing import Any, NamedTuple

from pytest_ngraph.errors import UsageError

TIMEOUT_S = 120.0


class Answer(NamedTuple):
    """What a script printed in its last line: `data`, None where the script failed. `said` is its last error line."""

    data: Any
    said: str


def ask(python: str, script: str, option: str) -> Answer:
    """Run a script in another interpreter, and return its answer.

    Args:
        option: names the interpreter in messages.

    Raises:
        UsageError: the interpreter cannot be run, or does not end with a line of JSON although nothing failed.
    """
    try:
        ended = subprocess.run([python, "-c", script], capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        reason = str(error) if isinstance(error, OSError) else f"no answer within {TIMEOUT_S:g} s"
        raise _refused(option, python, f"cannot be run ({reason})") from None
    said = (ended.stderr.strip().splitlines() or ["no reason given"])[-1]
    if ended.returncode:
        return Answer(None, said)
    try:
        return Answer(json.loads(ended.stdout.splitlines()[-1]), said)  # the environment may print lines before
    except (IndexError, ValueError):
        raise no_interpreter(option, python, said) from None


def no_interpreter(option: str, python: str, said: str) -> UsageError:
    """Return the error for an interpreter whose answer is not what a script of ours prints."""
    return _refused(option, python, f"does not answer like a Python interpreter ({said})")


def _refused(option: str, python: str, why: str) -> UsageError:
    step = "Give the path of a Python interpreter, such as other-environment/bin/python."
    return UsageError(f"{option}={python} {why}. {step}")
