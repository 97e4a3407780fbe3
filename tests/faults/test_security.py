"""Nothing in data from others runs, and nothing of ours is readable for others."""

from __future__ import annotations

import os
import pickle
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fault_project import Project
from synthetic import case, measured

from pytest_ngraph import store
from pytest_ngraph.artifact import Artifact
from pytest_ngraph.bench.processes.scratch import Scratch, remove_abandoned
from pytest_ngraph.errors import StoreError, UsageError
from pytest_ngraph.machine.devices import load_inventory
from pytest_ngraph.store import Journal, baselines
from pytest_ngraph.worker.cache import MANIFEST


class Bomb:
    """Leaves a file behind when it is unpickled."""

    def __init__(self, trace: Path) -> None:
        self._trace = trace

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self._trace),)


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    return tmp_path / "it ran"


def test_a_pickle_in_a_store_does_not_run(tmp_path: Path, trace: Path) -> None:
    (tmp_path / "20260101-000000-1.jsonl").write_bytes(pickle.dumps(Bomb(trace)))
    assert store.read(tmp_path).records == ()
    assert not trace.exists()


def test_a_pickle_as_a_baseline_does_not_run(tmp_path: Path, trace: Path) -> None:
    (tmp_path / "file").write_bytes(pickle.dumps(Bomb(trace)))
    with pytest.raises(StoreError, match="is not an exported baseline"):
        baselines.import_from(tmp_path / "file", tmp_path / "store", "main")
    assert not trace.exists()


def test_a_pickle_among_arrays_does_not_run(tmp_path: Path, trace: Path) -> None:
    np.savez(tmp_path / "inputs.npz", a0000=np.array([Bomb(trace)], dtype=object))
    with pytest.raises(ValueError, match="allow_pickle"):
        Artifact(folder=tmp_path, case=case()).inputs()
    assert not trace.exists()


def test_a_pickle_as_devices_does_not_run(tmp_path: Path, trace: Path) -> None:
    (tmp_path / "devices.toml").write_bytes(pickle.dumps(Bomb(trace)))
    with pytest.raises(UsageError, match="must be TOML"):
        load_inventory(tmp_path / "devices.toml")
    assert not trace.exists()


def test_a_run_is_not_written_through_a_link(tmp_path: Path) -> None:
    """Someone who can write to the store cannot make us write elsewhere."""
    journal = Journal(tmp_path / "store", {})
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / f"{journal.id}.jsonl").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreError, match="cannot write"):
        journal.append(measured(case(), 0.1))
    assert not (tmp_path / "elsewhere").exists()


def test_what_a_run_leaves_is_for_this_user_only(tmp_path: Path) -> None:
    """Even under a umask of 0. The files of a cache entry lie in a folder that nobody else can enter."""
    project = Project(tmp_path)
    status, printed = project.run("--ngraph-save=main", "-o", "ngraph_cache=cache", preexec_fn=lambda: os.umask(0))
    assert status == 0, printed
    runs = list(project.store.rglob(f"*{store.SUFFIX}"))
    assert len(runs) == 2, "the run and the baseline"
    cache = project.root / "cache"
    entries = list(cache.iterdir())
    assert entries
    assert all((entry / MANIFEST).is_file() for entry in entries)
    open_to_others = stat.S_IRWXG | stat.S_IRWXO
    private = [project.store, *runs, cache, *entries]
    assert not [path for path in private if path.stat().st_mode & open_to_others]


def test_temporary_folders_are_for_this_user_only_and_others_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    elsewhere = tmp_path / "precious"
    elsewhere.mkdir()
    (tmp_path / "ngraph-bench-link").symlink_to(elsewhere)
    (tmp_path / "ngraph-bench-unlocked").mkdir()
    scratch = Scratch()
    remove_abandoned()
    assert scratch.folder.stat().st_mode & 0o077 == 0
    scratch.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "ngraph-bench-link",
        "ngraph-bench-unlocked",
        "precious",
    ]
