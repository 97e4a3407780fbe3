"""Reservations, the audit log, and what a cluster's devices report, on a real device."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cluster.processes import Cluster
from cluster.remote_project import RemoteProject, agents_of, measured_on
from fault_project import finished, wait_until

from pytest_ngraph.cluster.device.folder import DeviceFolder


def unpacked(folder: DeviceFolder) -> list[str]:
    """Return the digests of the projects on a device."""
    return [path.name for path in folder.projects.glob("[!.]*")]


def test_a_device_measures_for_who_has_reserved_it(
    loopback: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loopback.start_device("red", "--min-disk=1KiB")
    folder = DeviceFolder(loopback.home("red"))
    monkeypatch.setenv("LOGNAME", "anna")
    reserved = loopback.run("device", "reserve", "red", "--for=2h")
    assert reserved.stdout.startswith("red is reserved for anna@"), reserved.stderr
    monkeypatch.setenv("LOGNAME", "ben")
    assert loopback.run("device", "reserve", "red", "--for=2h").returncode == 1
    wait_until(lambda: "red  reserved" in loopback.run("device", "list").stdout)
    listed = loopback.run("device", "list").stdout
    assert "GiB disk free" in listed
    assert "reserved for anna@" in listed
    written = loopback.run("device", "metrics", f"--output={tmp_path / 'devices.prom'}")
    assert (written.returncode, written.stdout) == (0, "")
    assert 'ngraph_device_state{device="red",pool="red",state="reserved"} 1' in (tmp_path / "devices.prom").read_text()

    project = RemoteProject(tmp_path, loopback, ["red"], workloads=["plain1"])
    run = project.start()
    wait_until(lambda: bool(unpacked(folder)))
    sent = unpacked(folder)
    assert agents_of(loopback, "red") == []
    assert not folder.audit.exists()
    assert loopback.run("device", "release", "red").stdout == "red is not reserved\n"
    status, printed = finished(run)
    assert status == 0, printed
    project.assert_whole()
    (entry,) = [json.loads(line) for line in folder.audit.read_text().splitlines()]
    assert entry["by"].startswith("ben@")
    assert entry["cases"] == ["plain1-mine:Exact-b1-red"]
    assert entry["projects"] == sent
    assert unpacked(folder) == [], "the session has ended"


def test_a_machine_of_a_pool_that_refuses_stops_no_other(loopback: Cluster, tmp_path: Path) -> None:
    loopback.start_device("orin-1", "--device=orin", "--min-disk=999999TiB")
    loopback.start_device("orin-2", "--device=orin")
    project = RemoteProject(tmp_path, loopback, ["orin"], workloads=[f"plain{number}" for number in range(4)])
    status, printed = finished(project.start())
    assert status == 0, printed
    project.assert_whole()
    assert measured_on(loopback, "orin-1") == []
    assert "orin-1 refuses to measure (" in printed
    assert "the other machines of orin go on" in printed
