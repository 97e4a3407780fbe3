"""Garbage collection is turned off in a block, and memory is given back."""

from __future__ import annotations

import ctypes
import gc
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_ngraph.system import garbage


@pytest.fixture(autouse=True)
def _as_it_was() -> Iterator[None]:
    yield
    gc.enable()


@pytest.fixture
def _thawed() -> Iterator[None]:
    """Nothing is frozen, as in a process that imports as it measures."""
    gc.unfreeze()
    yield
    gc.freeze()


def test_nothing_is_collected_until_the_end() -> None:
    with garbage.without_garbage_collection():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_an_error_ends_it_too() -> None:
    with pytest.raises(ValueError, match="invalid literal"), garbage.without_garbage_collection():
        int("no such model")
    assert gc.isenabled()


def test_a_collector_that_was_off_stays_off() -> None:
    gc.disable()
    with garbage.without_garbage_collection():
        pass
    assert not gc.isenabled()


@pytest.mark.usefixtures("_thawed")
def test_what_was_there_before_is_looked_at_again_afterwards() -> None:
    before = gc.get_freeze_count()
    with garbage.with_little_garbage_collection():
        assert gc.get_freeze_count() > before
    assert gc.get_freeze_count() <= before


def test_what_a_forked_worker_shares_stays_frozen() -> None:
    gc.freeze()
    shared = gc.get_freeze_count()
    with garbage.with_little_garbage_collection():
        assert gc.get_freeze_count() == shared
    assert gc.get_freeze_count() == shared


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_between_blocks_is_given_back() -> None:
    def resident_mib() -> float:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20

    if not hasattr(ctypes.CDLL(None), "malloc_trim"):
        pytest.skip("another C library than glibc")
    blocks = [bytes([1]) * 50_000 for _ in range(4000)]
    lasting = blocks[::100]
    blocks.clear()
    before = resident_mib()
    garbage.give_back_memory()
    assert resident_mib() < before - 100
    assert len(lasting) == 40
