"""Garbage collection that is put off."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from pytest_ngraph.workloads import frameworks


@pytest.fixture(autouse=True)
def _as_it_was() -> Iterator[None]:
    yield
    gc.enable()


def test_nothing_is_collected_until_the_end() -> None:
    with frameworks.without_garbage_collection():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_an_error_ends_it_too() -> None:
    with pytest.raises(ValueError, match="invalid literal"), frameworks.without_garbage_collection():
        int("no such model")
    assert gc.isenabled()


def test_who_collects_nothing_anyway_is_left_alone() -> None:
    gc.disable()
    with frameworks.without_garbage_collection():
        pass
    assert not gc.isenabled()
