from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from pytest_ngraph.machine.source_files import digests
from pytest_ngraph.worker.cache import BUILDING, MANIFEST, Cache, Entry, key_of
from pytest_ngraph.worker.cold_start import ColdStart

INPUTS = {"graph": "abc", "compiler": "openvino", "cores": [0, 1]}


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache", limit_bytes=2**20)


@pytest.fixture
def compiled(tmp_path: Path) -> Path:
    folder = tmp_path / "compiled"
    (folder / "deep").mkdir(parents=True)
    (folder / "model.so").write_bytes(b"code")
    (folder / "deep" / "weights").write_bytes(bytes(1000))
    return folder


@pytest.fixture
def into(tmp_path: Path) -> Path:
    folder = tmp_path / "into"
    folder.mkdir()
    return folder


def entry_folder(tmp_path: Path) -> Path:
    return tmp_path / "cache" / key_of(INPUTS)


def test_what_is_kept_is_taken(cache: Cache, compiled: Path, into: Path) -> None:
    cache.keep(INPUTS, compiled, ColdStart(2.0, 12.5, 2))
    entry = cache.take(INPUTS, into)
    assert entry is not None
    assert entry.cold_start == (2.0, 12.5, 2)
    assert (into / "model.so").read_bytes() == b"code"
    assert (into / "deep" / "weights").read_bytes() == bytes(1000)


@pytest.mark.parametrize("change", [{"graph": "abd"}, {"compiler": "openvino:streams=2"}, {"cores": [0]}])
def test_anything_else_is_not_found(cache: Cache, compiled: Path, into: Path, change: dict[str, object]) -> None:
    cache.keep(INPUTS, compiled, ColdStart(0.0, 1.0, 2))
    assert cache.take(INPUTS | change, into) is None


def test_what_was_compiled_from_files_that_changed_is_not_taken(
    cache: Cache, compiled: Path, into: Path, tmp_path: Path
) -> None:
    rules = tmp_path / "rules.json"
    rules.write_text("[]")
    read = digests([str(rules)])
    cache.keep(INPUTS, compiled, ColdStart(0.0, 1.0, 2), read=read)
    taken = cache.take(INPUTS, into)
    assert taken is not None
    assert taken.read == read
    rules.write_text("[1]")
    assert cache.take(INPUTS, into) is None
    rules.unlink()
    assert cache.take(INPUTS, into) is None
    cache.keep(INPUTS, compiled, ColdStart(0.0, 1.0, 2))
    assert cache.take(INPUTS, into) is not None


@pytest.mark.parametrize("name", ["model.so", "deep/weights"])
@pytest.mark.parametrize("damage", [b"", b"codx", None])
def test_a_damaged_entry_is_removed_and_kept_again(
    cache: Cache, compiled: Path, into: Path, tmp_path: Path, name: str, damage: bytes | None
) -> None:
    cache.keep(INPUTS, compiled, ColdStart(0.0, 1.0, 2))
    path = entry_folder(tmp_path) / name
    if damage is None:
        path.unlink()
    else:
        path.write_bytes(damage)
    assert cache.take(INPUTS, into) is None
    assert list(into.iterdir()) == []
    assert not entry_folder(tmp_path).exists()
    cache.keep(INPUTS, compiled, ColdStart(0.0, 1.0, 2))
    assert cache.take(INPUTS, into) is not None


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"inputs": 1}', "not json"])
def test_a_manifest_that_cannot_be_read(cache: Cache, compiled: Path, into: Path, tmp_path: Path, text: str) -> None:
    cache.keep(INPUTS, compiled, ColdStart(0.0, 1.0, 2))
    (entry_folder(tmp_path) / MANIFEST).write_text(text)
    assert cache.take(INPUTS, into) is None


def test_a_manifest_cannot_name_files_elsewhere(cache: Cache, compiled: Path, into: Path, tmp_path: Path) -> None:
    cache.keep(INPUTS, compiled, ColdStart(0.0, 1.0, 2))
    secret = tmp_path / "secret"
    secret.write_text("x")
    path = entry_folder(tmp_path) / MANIFEST
    manifest = json.loads(path.read_text())
    path.write_text(json.dumps(manifest | {"files": {"../../secret": "0"}}))
    assert cache.take(INPUTS, into) is None
    assert secret.exists()


def test_an_entry_under_another_name_is_foreign(cache: Cache, compiled: Path, into: Path, tmp_path: Path) -> None:
    cache.keep({"graph": "other"}, compiled, ColdStart(0.0, 1.0, 2))
    (tmp_path / "cache" / key_of({"graph": "other"})).rename(entry_folder(tmp_path))
    assert cache.take(INPUTS, into) is None


@pytest.mark.parametrize("which", ["cache", "entry"])
def test_what_others_can_write_is_not_trusted(
    cache: Cache, compiled: Path, into: Path, tmp_path: Path, which: str
) -> None:
    cache.keep(INPUTS, compiled, ColdStart(0.0, 1.0, 2))
    (entry_folder(tmp_path) if which == "entry" else tmp_path / "cache").chmod(0o777)
    assert cache.take(INPUTS, into) is None


def test_the_least_recently_used_goes_first(tmp_path: Path, compiled: Path, into: Path) -> None:
    cache = Cache(tmp_path / "cache", limit_bytes=2500)
    for index in range(2):
        cache.keep({"graph": index}, compiled, ColdStart(0.0, 1.0, 2))
        os.utime(tmp_path / "cache" / key_of({"graph": index}), (index, index))
    assert cache.take({"graph": 0}, into) is not None
    cache.keep({"graph": 2}, compiled, ColdStart(0.0, 1.0, 2))
    assert [entry.inputs["graph"] for entry in cache.entries()] == [0, 2]


def test_a_sweep_larger_than_the_cache_finds_some_of_it_again(tmp_path: Path, compiled: Path, into: Path) -> None:
    """In the same order, the oldest entry is always the next one needed."""
    size = sum(path.stat().st_size for path in compiled.rglob("*") if path.is_file())
    cache = Cache(tmp_path / "cache", limit_bytes=40 * size)
    for _ in range(2):
        found = 0
        for case in range(50):
            if cache.take({"graph": case}, into):
                found += 1
            else:
                cache.keep({"graph": case}, compiled, ColdStart(0.0, 1.0, 2))
        assert len(cache.entries()) == 40
    assert 10 < found < 50


def test_what_another_process_removes_meanwhile_is_compiled_again(
    cache: Cache, compiled: Path, into: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Devices that share a home folder share the cache."""
    cache.keep(INPUTS, compiled, ColdStart(0.0, 1.0, 2))
    copy = shutil.copyfile

    def copied_too_late(source: Path, target: Path) -> None:
        if source.name == "weights":
            cache.clear()
        copy(source, target)

    monkeypatch.setattr("pytest_ngraph.worker.cache.shutil.copyfile", copied_too_late)
    assert cache.take(INPUTS, into) is None
    assert list(into.iterdir()) == []


def test_what_another_process_removes_is_not_counted(cache: Cache, compiled: Path, into: Path) -> None:
    entries = cache.entries

    def then_removed() -> list[Entry]:
        found = entries()
        cache.clear()
        return found

    cache.entries = then_removed  # type: ignore[method-assign]
    cache.keep(INPUTS, compiled, ColdStart(0.0, 1.0, 2))
    assert cache.take(INPUTS, into) is None


def test_what_a_killed_process_left_half_made_goes(cache: Cache, compiled: Path, tmp_path: Path) -> None:
    cache.keep({"graph": "first"}, compiled, ColdStart(0.0, 1.0, 2))
    left, under_way = (tmp_path / "cache" / f"{BUILDING}{name}" for name in ("left", "under-way"))
    for folder in (left, under_way):
        folder.mkdir()
    os.utime(left, (0, 0))
    cache.keep(INPUTS, compiled, ColdStart(0.0, 1.0, 2))
    assert not left.exists()
    assert under_way.exists(), "another process may be making it"
    cache.clear()
    assert list((tmp_path / "cache").iterdir()) == []


def test_folders_that_are_no_entries_stay(cache: Cache, compiled: Path) -> None:
    """Somebody lists or clears a folder that has others, such as the home folder."""
    cache.folder.mkdir(parents=True, exist_ok=True)
    (cache.folder / "documents").mkdir()
    cache.keep(INPUTS, compiled, ColdStart(0.0, 1.0, 2))
    assert len(cache.entries()) == 1
    cache.bound()
    cache.clear()
    assert [path.name for path in cache.folder.iterdir()] == ["documents"]


def test_clear_removes_everything(cache: Cache, compiled: Path) -> None:
    cache.keep(INPUTS, compiled, ColdStart(0.0, 1.0, 2))
    cache.clear()
    assert cache.entries() == []


def test_a_disk_that_cannot_be_written_keeps_nothing(compiled: Path, into: Path) -> None:
    cache = Cache(Path("/dev/null/cache"), limit_bytes=1)
    cache.keep(INPUTS, compiled, ColdStart(0.0, 1.0, 2))
    assert cache.entries() == []
