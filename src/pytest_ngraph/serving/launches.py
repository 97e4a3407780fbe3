"""Launch processes that only serve a model, and read off what they cost.

They are started by exec and hold nothing but `serve.py` and what it imports. Time is that of `CLOCK_MONOTONIC`, which
all processes share, so that the start of Python counts too.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pytest_ngraph.costs import ServingLaunch
from pytest_ngraph.errors import NgraphError
from pytest_ngraph.serving import client
from pytest_ngraph.system.affinity import on_cores

LAUNCHES = 6
"""Launches that count: the fewest with a 95 % interval of the median, from the smallest to the largest. One more comes
before them, so that all files are in the page cache."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A folder that serves, and how it is launched.

    Attributes:
        folder: it has a `serve.py`.
        cores: logical CPUs that the process is bound to.
        python: its interpreter.
        variables: its environment.
        packages: folders with packages that it needs, where an isolated interpreter does not look.
    """

    folder: Path
    cores: Sequence[int]
    python: str = sys.executable
    variables: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    packages: Sequence[str] = ()

    @property
    def command(self) -> list[str]:
        """The interpreter, which finds its own packages and those in `packages`, and nothing else of the user."""
        return [self.python, "-s" if self.packages else "-I", "-B"]

    @property
    def environment(self) -> dict[str, str]:
        """The environment of `command`."""
        return {**self.variables, **({"PYTHONPATH": os.pathsep.join(self.packages)} if self.packages else {})}


def in_turn(
    places: Sequence[Place],
    timeout_s: float,
    on_launch: Callable[[int], None],
    count: int = LAUNCHES,
) -> list[tuple[ServingLaunch, ...]]:
    """Launch each place `count` times, in turn, and return the launches of each.

    Every other cycle goes backwards, so that drift affects all alike. Where `count` is more than one, there is a cycle
    before these that does not count.

    Args:
        timeout_s: seconds that a launch may take.
        on_launch: called with the number of each cycle as it begins, from 0.

    Raises:
        NgraphError: a process does not answer.
    """
    found: list[list[ServingLaunch]] = [[] for _ in places]
    all_cycles = cycles(count)
    for number in range(all_cycles):
        on_launch(number)
        for index, place in list(enumerate(places))[:: -1 if number % 2 else 1]:
            launch = launched(place, timeout_s)
            if number >= all_cycles - count:
                found[index].append(launch)
    return [tuple(launches) for launches in found]


def cycles(count: int) -> int:
    """Return how many cycles it takes to launch each place `count` times: one more, unless one launch is enough.

    A single launch shows about what it takes. An interval needs launches that all find the files in memory.
    """
    return count + (count > 1)


def launched(place: Place, timeout_s: float) -> ServingLaunch:
    """Launch one process, wait for its end and return its figures. The temporary files that it left are removed.

    Raises:
        NgraphError: the process cannot be started, does not answer, or takes longer.
    """
    reads, writes = os.pipe()
    with (
        os.fdopen(reads, "rb") as figures,
        tempfile.TemporaryFile() as stderr,
        tempfile.TemporaryDirectory(prefix="ngraph-serving-") as temporary,  # Inductor unpacks its package there
    ):
        command = [*place.command, client.__file__, str(place.folder), str(writes)]
        try:
            with on_cores(place.cores):
                started = time.monotonic()
                process = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=stderr,
                    cwd=place.folder,
                    env={**place.environment, "TMPDIR": temporary},
                    pass_fds=(writes,),
                )
        except OSError as error:
            raise NgraphError(f"a process that serves cannot be started: {error}") from error
        finally:
            os.close(writes)
        try:
            status = process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            raise NgraphError(f"a process that serves took longer than {timeout_s:g} s and was killed") from None
        finally:
            process.kill()
            process.wait()
        content = figures.read().split()
        if status or not content:
            stderr.seek(0)
            raise NgraphError(f"a process that serves {_end(status)}{_last_line(stderr.read())}")
    return _launch(started, [float(text) for text in content])


def _launch(started: float, readings: Sequence[float]) -> ServingLaunch:
    """Return a launch from what `client.py` wrote."""
    begun, imported, loaded, given, answered, *memory = readings
    resident, private, peak = (None if size < 0 else int(size) for size in memory)
    return ServingLaunch(
        cold_start_s=answered - started - (given - loaded),
        serving_import_s=imported - begun,
        serving_load_s=loaded - imported,
        serving_first_call_s=answered - given,
        serving_memory_bytes=resident,
        serving_private_bytes=private,
        serving_peak_bytes=peak,
    )


def _end(status: int) -> str:
    return f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"


def _last_line(stderr: bytes) -> str:
    lines = stderr.decode(errors="replace").strip().splitlines()
    return f": {lines[-1].strip()}" if lines else ""
