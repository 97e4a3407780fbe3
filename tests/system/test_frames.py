"""What a call costs does not depend on how deep the stack is."""

from __future__ import annotations

import sys
from functools import partial

import pytest
from paging import CALLS, most_pages

from pytest_ngraph.system.frames import with_room


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Python 3.10 keeps frames elsewhere")
def test_without_room_calls_at_some_depth_need_memory_each_time() -> None:
    assert most_pages() >= CALLS


def test_with_room_no_call_needs_memory() -> None:
    assert with_room(most_pages) < CALLS / 10


def test_what_is_called_returns_its_result_and_raises_its_errors() -> None:
    assert with_room(partial(int, "12")) == 12
    with pytest.raises(ValueError, match="invalid literal"):
        with_room(partial(int, "twelve"))
