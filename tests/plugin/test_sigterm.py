"""What SIGTERM does while a session ends. What it does before is in `tests/faults/test_parent_faults.py`."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from pytest_ngraph.plugin import sigterm


@pytest.fixture(autouse=True)
def handler() -> Iterator[None]:
    before = signal.signal(signal.SIGTERM, sigterm._end)
    yield
    signal.signal(signal.SIGTERM, before)


def test_a_session_that_ends_is_not_interrupted() -> None:
    """Seen on a GPU server: `timeout` hit the summary, which ended in a traceback of pytest's own code."""
    sigterm.finish()
    os.kill(os.getpid(), signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL, "the next signal kills"


def test_a_handler_of_somebody_else_stays() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sigterm.finish()
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_IGN
