"""Tests marked `alone` run while no other test does, also where pytest-xdist runs several processes.

Every test holds a lock that tests share, and a test marked `alone` holds it by itself. A second lock keeps those that
share from going on for ever while one waits.
"""

from __future__ import annotations

import fcntl
import tempfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

FOLDER = pytest.StashKey[Path]()


def pytest_configure(config: pytest.Config) -> None:
    run: dict[str, str] = getattr(config, "workerinput", {})
    if run:
        config.stash[FOLDER] = Path(tempfile.gettempdir()).parent / f"pytest-ngraph-tests-{run['testrunuid']}"
        config.stash[FOLDER].mkdir(exist_ok=True)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    folder = item.config.stash.get(FOLDER, None)
    if folder is None:
        return (yield)
    is_alone = item.get_closest_marker("alone") is not None
    with locked(folder / "tests", fcntl.LOCK_EX if is_alone else fcntl.LOCK_SH, behind=folder / "turn"):
        return (yield)


@contextmanager
def locked(path: Path, mode: int, behind: Path) -> Iterator[None]:
    """Hold a lock on a file; who waits for it holds the lock `behind` alone."""
    with path.open("w") as file:
        with behind.open("w") as turn:
            fcntl.flock(turn, fcntl.LOCK_EX)
            fcntl.flock(file, mode)
        yield
