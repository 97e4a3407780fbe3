"""What a call costs does not depend on how deep the stack is."""

from __future__ import annotations

import resource
import sys
from collections.abc import Callable
from functools import partial

import pytest

from pytest_ngraph.system.frames import with_room

CALLS = 1000
DEEPEST = 400
"""Frames of the functions below are small: the first chunk ends before this depth."""


def nothing() -> None:
    """A function that is called at some depth."""


def faults_of_calls() -> int:
    """Return how many pages the system had to provide for some calls: it does so for each new chunk of frames."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(CALLS):
        nothing()
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


def at(depth: int, call: Callable[[], int]) -> int:
    return call() if depth == 0 else at(depth - 1, call)


def most_faults() -> int:
    return max(at(depth, faults_of_calls) for depth in range(DEEPEST))


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Python 3.10 keeps frames elsewhere")
def test_without_room_calls_at_some_depth_need_memory_each_time() -> None:
    assert most_faults() >= CALLS


def test_with_room_no_call_needs_memory() -> None:
    assert with_room(most_faults) < CALLS / 10


def test_what_is_called_returns_its_result_and_raises_its_errors() -> None:
    assert with_room(partial(int, "12")) == 12
    with pytest.raises(ValueError, match="invalid literal"):
        with_room(partial(int, "twelve"))
