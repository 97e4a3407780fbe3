"""A device that takes an archive in parts, from clients that stop, fall silent or send anything."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_ngraph.bench.processes.lock import is_held
from pytest_ngraph.cluster.device import task
from pytest_ngraph.cluster.device.folder import DeviceFolder
from pytest_ngraph.cluster.device.plugin import DevicePlugin
from pytest_ngraph.cluster.device.projects import Projects
from pytest_ngraph.cluster.device.quiet import Quiet
from pytest_ngraph.cluster.project import Packed, pack
from pytest_ngraph.cluster.resources import KEY
from pytest_ngraph.errors import NgraphError


@pytest.fixture
def device(tmp_path: Path) -> Iterator[DevicePlugin]:
    folder = tmp_path / "device"
    folder.mkdir()
    quiet = Quiet(lock=tmp_path / "lock")
    yield DevicePlugin(device="xeon", pool="xeon", folder=DeviceFolder(folder), quiet=quiet)
    quiet.close()


@pytest.fixture
def packed(tmp_path: Path) -> Packed:
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "nets.py").write_text("text")
    return pack(tmp_path / "project")


def receives(device: DevicePlugin, packed: Packed, number: int, client: str = "client", count: int = 2) -> bool:
    """Send one of so many parts of an archive. Returns whether it was taken."""
    size = -(-len(packed.content) // count)
    part = packed.content[number * size : (number + 1) * size]
    worker: Any = SimpleNamespace(plugins={KEY: device})
    return asyncio.run(task.receive(packed.digest, client, number, count, part, worker))


def stop(device: DevicePlugin, packed: Packed) -> None:
    worker: Any = SimpleNamespace(plugins={KEY: device})
    asyncio.run(task.stop("client", [packed.digest], worker))


def left(device: DevicePlugin) -> list[str]:
    """Return the files and projects on a device."""
    return sorted(path.name for path in device.folder.path.rglob("*") if path != device.folder.projects)


def test_the_parts_of_an_archive_become_a_project(device: DevicePlugin, packed: Packed, tmp_path: Path) -> None:
    assert [receives(device, packed, number) for number in (0, 1)] == [True, True]
    assert Projects(device.folder.projects).has(packed.digest)
    assert not is_held(tmp_path / "lock")
    stop(device, packed)
    assert left(device) == []


def test_nothing_is_left_of_a_client_that_stops_while_it_sends(
    device: DevicePlugin, packed: Packed, tmp_path: Path
) -> None:
    assert receives(device, packed, 0)
    stop(device, packed)
    assert left(device) == []
    assert not is_held(tmp_path / "lock")
    assert not receives(device, packed, 1), "it was on its way"
    assert not receives(device, packed, 0)
    assert left(device) == []
    assert not is_held(tmp_path / "lock"), "a local run would wait for nobody"


def test_nothing_is_left_of_a_client_that_stops_while_its_project_is_unpacked(
    device: DevicePlugin, packed: Packed, monkeypatch: pytest.MonkeyPatch
) -> None:
    unpack = Projects.unpack

    def stopped(projects: Projects, digest: str, archive: Path) -> None:
        device.quiet.stop("client")
        unpack(projects, digest, archive)

    monkeypatch.setattr(Projects, "unpack", stopped)
    assert not receives(device, packed, 0, count=1)
    assert left(device) == []


def test_two_clients_do_not_mix_their_archives(device: DevicePlugin, packed: Packed, tmp_path: Path) -> None:
    """The first one is so slow that the device takes the other's in between."""
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "nets.py").write_text("another text")
    other = pack(tmp_path / "other")
    assert receives(device, packed, 0)
    device.quiet.end("client")  # its time is over
    assert [receives(device, other, number, "other") for number in (0, 1)] == [True, True]
    assert not receives(device, packed, 1), "else its archive would be a damaged one"
    assert not is_held(tmp_path / "lock")
    assert [receives(device, packed, number) for number in (0, 1)] == [True, True]
    assert sorted(left(device)) == sorted([packed.digest, other.digest, "nets.py", "nets.py"])


def test_an_archive_that_is_none_does_not_keep_the_machine(device: DevicePlugin, tmp_path: Path) -> None:
    plain = b"no archive"
    odd = Packed(digest=hashlib.sha256(plain).hexdigest(), content=gzip.compress(plain))
    with pytest.raises(NgraphError, match="the project cannot be unpacked on this device: "):
        receives(device, odd, 0, count=1)
    assert not is_held(tmp_path / "lock")
    assert left(device) == []


def test_what_does_not_fit_on_the_disk_is_not_left_there(
    device: DevicePlugin, packed: Packed, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert receives(device, packed, 0, count=3)

    def full(*arguments: Any, **others: Any) -> Any:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pytest_ngraph.cluster.device.arriving.open", full, raising=False)
    with pytest.raises(NgraphError, match=r"cannot be stored on this device: .*No space left"):
        receives(device, packed, 1, count=3)
    assert left(device) == []
    assert not is_held(tmp_path / "lock")
