"""The call of a test marked `alone` runs while no other test does, also where pytest-xdist runs several processes.

What its fixtures set up and tear down runs beside other tests. Every test holds a lock that tests share, and exchanges
it for one of its own before a call that is to run alone. A second lock keeps those that share from going on for ever
while one waits. Tests wait between the phases, so that `--durations` does not count it.
"""

from __future__ import annotations

import fcntl
import tempfile
from collections.abc import Generator
from pathlib import Path

import pytest


class Lock:
    """The lock of this process.

    Args:
        folder: the same for all processes of a run.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        self._tests = (folder / "tests").open("w")
        self._turn = (folder / "turn").open("w")

    def take(self, mode: int) -> None:
        """Exchange what is held for a lock of another mode; whoever waits for it holds the other lock by itself."""
        self.release()
        fcntl.flock(self._turn, fcntl.LOCK_EX)
        fcntl.flock(self._tests, mode)
        fcntl.flock(self._turn, fcntl.LOCK_UN)

    def release(self) -> None:
        fcntl.flock(self._tests, fcntl.LOCK_UN)


LOCK = pytest.StashKey[Lock]()


def pytest_configure(config: pytest.Config) -> None:
    run: dict[str, str] = getattr(config, "workerinput", {})
    if run:
        config.stash[LOCK] = Lock(Path(tempfile.gettempdir()).parent / f"pytest-ngraph-tests-{run['testrunuid']}")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    lock = item.config.stash.get(LOCK, None)
    if lock is None:
        return (yield)
    lock.take(fcntl.LOCK_SH)
    try:
        return (yield)
    finally:
        lock.release()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    lock = item.config.stash.get(LOCK, None)
    if lock is not None and item.get_closest_marker("alone"):
        if call.when == "setup" and report.passed:
            lock.take(fcntl.LOCK_EX)
        elif call.when == "call":
            lock.take(fcntl.LOCK_SH)
    return report
