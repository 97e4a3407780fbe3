"""What a device keeps on disk, and what it writes down for good."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from cluster.unpacked import unpack_in
from synthetic import case, measured

from pytest_ngraph import store
from pytest_ngraph.cluster.audit import AuditLog
from pytest_ngraph.cluster.device.folder import DeviceFolder
from pytest_ngraph.cluster.device.projects import Projects
from pytest_ngraph.cluster.device.quotas import EVERY_S, Enforcer, Quotas
from pytest_ngraph.cluster.device.results import DeviceResults
from pytest_ngraph.cluster.project import pack
from pytest_ngraph.store import Journal
from pytest_ngraph.worker.cache import Cache


def journal(folder: Path, run: str, age_s: float) -> Journal:
    """Return a journal of one record, last written so long ago."""
    made = Journal(folder, {}, run=run)
    made.append(measured(case(), 0.1))
    path = folder / f"{run}{store.SUFFIX}"
    then = path.stat().st_mtime - age_s
    os.utime(path, (then, then))
    return made


def test_the_oldest_results_go_but_none_that_is_being_written(tmp_path: Path) -> None:
    folder = DeviceFolder(tmp_path)
    folder.store.mkdir()
    live = journal(folder.store, "live", 300)
    for run, age_s in (("old", 200.0), ("new", 100.0)):
        journal(folder.store, run, age_s).close()
    size = (folder.store / f"new{store.SUFFIX}").stat().st_size
    Quotas(results_bytes=2 * size + 16).enforce(folder, tmp_path / "compiled")
    assert sorted(store.run_ids(folder.store)) == ["live", "new"]
    live.close()
    Quotas(results_bytes=0).enforce(folder, tmp_path / "compiled")
    assert store.run_ids(folder.store) == []


def test_projects_in_use_stay(tmp_path: Path) -> None:
    folder, digests = DeviceFolder(tmp_path), []
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "nets.py").write_text(name)
        packed = pack(tmp_path / name)
        unpack_in(folder, packed)
        digests.append(packed.digest)
    with Projects(folder.projects).held(digests[0]):
        Quotas(projects_bytes=0).enforce(folder, tmp_path / "compiled")
    assert [Projects(folder.projects).has(digest) for digest in digests] == [True, False]


def test_what_cannot_be_removed_is_said_and_the_rest_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, compiled = DeviceFolder(tmp_path), tmp_path / "compiled"
    folder.store.mkdir()
    journal(folder.store, "old", 200.0).close()

    def denied(cache: Cache) -> None:
        raise PermissionError(13, "Permission denied", str(compiled))

    def away(projects: Projects, limit_bytes: int) -> None:
        raise FileNotFoundError(2, "No such file or directory", "a1")

    monkeypatch.setattr(Cache, "bound", denied)
    monkeypatch.setattr(Projects, "bound", away)
    problems = Quotas(results_bytes=0).enforce(folder, compiled)
    assert [problem.partition("] ")[2] for problem in problems] == [
        "No such file or directory: 'a1'", f"Permission denied: '{compiled}'",
    ]  # fmt: skip
    assert store.run_ids(folder.store) == []


def test_what_another_process_removes_does_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = DeviceFolder(tmp_path)
    folder.store.mkdir()
    (tmp_path / "first").mkdir()
    (tmp_path / "first" / "nets.py").touch()
    unpack_in(folder, pack(tmp_path / "first"))
    (folder.store / f"gone{store.SUFFIX}").symlink_to(tmp_path / "nowhere")
    lstat = Path.lstat

    def vanished(path: Path) -> os.stat_result:
        if path.name == "nets.py":
            raise FileNotFoundError
        return lstat(path)

    monkeypatch.setattr(Path, "lstat", vanished)
    assert Quotas().enforce(folder, tmp_path / "compiled") == []
    assert DeviceResults(folder.store, "a", "b").of is not None


def test_sizes_are_looked_at_now_and_then(tmp_path: Path) -> None:
    class Counted(Quotas):
        def enforce(self, folder: DeviceFolder, compiled: Path | None = None) -> list[str]:
            looks.append(folder)
            return []

    looks: list[DeviceFolder] = []
    now = [0.0]
    enforcer = Enforcer(lambda: now[0])
    for now[0] in (0.0, 1.0, EVERY_S):
        enforcer.enforce(Counted(), DeviceFolder(tmp_path))
    assert len(looks) == 2


def test_the_audit_log_only_grows_and_is_read_by_its_user_alone(tmp_path: Path) -> None:
    log = AuditLog(tmp_path / "audit.jsonl", most_bytes=100, wall=lambda: 0.0)
    for number in range(4):
        log.write(by="anna@head", projects=["d1"], cases=[f"case{number}"])
    entries = [
        json.loads(line)
        for name in ("audit.jsonl.1", "audit.jsonl")
        for line in (tmp_path / name).read_text().splitlines()
    ]
    assert entries == [
        {"at": "1970-01-01T00:00:00Z", "by": "anna@head", "projects": ["d1"], "cases": [f"case{number}"]}
        for number in range(4)
    ]
    assert (tmp_path / "audit.jsonl").stat().st_mode & 0o777 == 0o600


def test_on_a_full_disk_the_audit_log_fails_and_keeps_whole_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, write = AuditLog(tmp_path / "audit.jsonl"), os.write
    log.write(by="anna@head")
    monkeypatch.setattr(os, "write", lambda file, text: write(file, text[: len(text) // 2]))
    with pytest.raises(OSError, match="No space left"):
        log.write(by="ben@head")
    monkeypatch.undo()
    log.write(by="carla@head")
    assert [json.loads(line)["by"] for line in log.path.read_text().splitlines()] == ["anna@head", "carla@head"]
