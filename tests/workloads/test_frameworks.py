"""Garbage collection is turned off in a block, and compilers send no telemetry."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest
from compiled import working

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


def test_a_collector_that_was_off_stays_off() -> None:
    gc.disable()
    with frameworks.without_garbage_collection():
        pass
    assert not gc.isenabled()


def test_what_was_there_before_is_looked_at_again_afterwards() -> None:
    before = gc.get_freeze_count()
    with frameworks.with_little_garbage_collection():
        assert gc.get_freeze_count() > before
    assert gc.get_freeze_count() <= before


def test_what_a_forked_worker_shares_stays_frozen() -> None:
    gc.freeze()
    try:
        shared = gc.get_freeze_count()
        with frameworks.with_little_garbage_collection():
            assert gc.get_freeze_count() == shared
        assert gc.get_freeze_count() == shared
    finally:
        gc.unfreeze()


@pytest.mark.parametrize("compiler", ["onnxruntime", "openvino"])
def test_a_compiler_keeps_no_identity_of_the_user(
    compiler: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both write an identity into the home folder before they send anything."""
    (home := tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(home))
    # Under CI both send nothing. The tests themselves are run with the last of these.
    for variable in ("XDG_CACHE_HOME", "CI", "TF_BUILD", "JENKINS_URL", "ORT_DISABLE_TELEMETRY"):
        monkeypatch.delenv(variable, raising=False)
    with working(compiler, tmp_path):
        pass
    assert list(home.rglob("*")) == []
