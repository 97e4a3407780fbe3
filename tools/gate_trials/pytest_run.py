"""A run of pytest in a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path


def output_of(folder: Path, *arguments: str, environment: Mapping[str, str]) -> str:
    """Run pytest, copy its output to standard error and return it. `environment` is added to this process's own.

    When this process is interrupted, pytest is interrupted once, and has the time to remove what it made.
    """
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments]
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=os.environ | environment,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            process.wait()
        except KeyboardInterrupt:
            process.send_signal(signal.SIGINT)
            process.wait()
            raise
        output.seek(0)
        text = output.read()
    sys.stderr.write(text)
    return text
