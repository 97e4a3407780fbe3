"""A user's project whose quick cases are measured on the devices of a cluster."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psutil
from fault_project import INI, Project, Started

from cluster.processes import Cluster
from pytest_ngraph import store
from pytest_ngraph.store import Run


class RemoteProject(Project):
    """A project whose tests ask for these devices, all of them plain CPUs."""

    def __init__(
        self,
        root: Path,
        cluster: Cluster,
        devices: Sequence[str],
        *,
        workloads: Sequence[str] = ("plain1", "plain2"),
        batch_sizes: Sequence[int] = (1,),
        compilers: Sequence[str] = ("mine:Exact",),
    ) -> None:
        super().__init__(root / "project-of-client", workloads=workloads, batch_sizes=batch_sizes, compilers=compilers)
        self._cluster = cluster
        self._devices = devices
        self.begin_with = cluster.place.on("client")
        self.is_warm = cluster.is_warm
        (self.root / "pytest.ini").write_text(f"{INI}ngraph_devices = devices.toml\n")
        (self.root / "devices.toml").write_text("".join(f"[{device}]\n" for device in devices))
        self.expected = {f"{case.removesuffix('-cpu')}-{device}" for case in self.expected for device in devices}

    def start(self, *arguments: str, **options: Any) -> Started:
        devices = (f"--device={device}" for device in self._devices)
        return super().start(*self._cluster.client_options, *devices, *arguments, **options)

    @property
    def newest(self) -> Run:
        return store.read(self.store)

    def assert_whole(self) -> None:
        """Assert that every case was measured, and recorded once."""
        assert {case: record.outcome for case, record in self.records.items()} == dict.fromkeys(
            self.expected, "measured"
        )
        assert self.doubled == []


def measured_on(cluster: Cluster, device: str) -> list[str]:
    """Return the cases that a device has recorded, each as often as it was."""
    lines = [
        line for path in cluster.home(device).glob(f"store/*{store.SUFFIX}") for line in path.read_bytes().splitlines()
    ]
    rows = [json.loads(line) for line in lines if b'"outcome"' in line]
    return [
        "-".join((row["case"]["workload"], row["case"]["compiler"], str(row["case"]["batch_size"]))) for row in rows
    ]


def agents_of(cluster: Cluster, device: str) -> list[psutil.Process]:
    """Return the processes that measure for a device."""
    children = psutil.Process(cluster.pid(device)).children()
    return [child for child in children if "pytest_ngraph.cluster.device.agent" in child.cmdline()]
