"""Runs on three devices of a real network while parts of it fail: in the end every case is recorded once."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path

import pytest
from cluster.network import DEVICES, Network
from cluster.processes import Cluster
from cluster.remote_project import RemoteProject, measured_on
from fault_project import finished

CASES = 5
NOTICED_S = 45.0
"""Time after which both ends of a pulled cable have noticed it: the engine waits for 30 s."""


@pytest.fixture
def project(three_devices: Cluster, tmp_path: Path) -> RemoteProject:
    return RemoteProject(tmp_path, three_devices, DEVICES, workloads=[f"plain{number}" for number in range(CASES)])


def assert_measured_once(cluster: Cluster, project: RemoteProject) -> None:
    project.assert_whole()
    for device in DEVICES:
        assert set(Counter(measured_on(cluster, device)).values()) == {1}


def test_all_devices_of_a_network(three_devices: Cluster, project: RemoteProject) -> None:
    status, printed = project.run()
    assert status == 0, printed
    assert_measured_once(three_devices, project)
    assert set(project.newest.environments) == set(DEVICES)


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [1.0, NOTICED_S])
@pytest.mark.parametrize("machine", ["orin", "client"])
def test_a_cable_that_is_pulled_and_put_back(
    three_devices: Cluster, network: Network, project: RemoteProject, machine: str, seconds: float
) -> None:
    run = project.start()
    project.wait_for(2, run)
    network.cut(machine)
    time.sleep(seconds)
    network.restore(machine)
    status, printed = finished(run)
    assert status == 0, printed
    assert_measured_once(three_devices, project)


@pytest.mark.slow
def test_a_device_a_scheduler_and_a_client_that_are_killed(three_devices: Cluster, project: RemoteProject) -> None:
    run = project.start()
    project.wait_for(2, run)
    three_devices.kill("gpu")
    three_devices.start_device("gpu")
    three_devices.kill("head")
    three_devices.start_scheduler()
    project.wait_for(4, run)
    run.kill()
    finished(run)
    status, printed = project.run("--ngraph-resume", "--ngraph-wait-for-devices=60")
    assert status == 0, printed
    assert_measured_once(three_devices, project)
