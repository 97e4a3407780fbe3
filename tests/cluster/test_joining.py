"""A device's life: it joins, is listed, loses its scheduler, leaves."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import psutil
import pytest
from cluster.processes import Cluster
from cluster.remote_project import RemoteProject, agents_of
from cluster.tasks import wait_for_file
from distributed import Client
from fault_project import finished, wait_until

from pytest_ngraph.bench.lock import LOCK, exclusive
from pytest_ngraph.cluster.connection import connect
from pytest_ngraph.cluster.presence import JoinedDevice, present, resource
from pytest_ngraph.cluster.security import endpoint
from pytest_ngraph.machine.machine import Machine


def client_of(cluster: Cluster) -> Client:
    return connect(endpoint(cluster.address, None))


def the_device(client: Client) -> JoinedDevice:
    (found,) = present(client)
    return found


def test_a_device_is_listed_and_offers_itself_once(loopback: Cluster) -> None:
    loopback.start_device("orin-1", "--device=orin")
    with client_of(loopback) as client:
        device = the_device(client)
        assert (device.name, device.pool, device.state) == ("orin-1", "orin", "free")
        assert Machine.from_dict(device.machine).fingerprint == device.environment["fingerprint"]
        assert "identity" in device.installed
        ran = client.submit(type, 1, resources={resource("orin"): 1}, pure=False)
        assert ran.result(timeout=60) is int


def test_a_device_that_measures_is_busy_and_finishes_before_it_leaves(loopback: Cluster, tmp_path: Path) -> None:
    loopback.start_device("xeon")
    done = tmp_path / "done"
    with client_of(loopback) as client:
        first = client.submit(wait_for_file, str(done), resources={resource("xeon"): 1})
        second = client.submit(wait_for_file, str(done), resources={resource("xeon"): 1}, pure=False)
        wait_until(done.with_suffix(".begun").exists)
        assert the_device(client).state == "busy"
        loopback.signal("xeon", signal.SIGTERM)
        loopback.wait_for("xeon", "leaving")
        wait_until(lambda: the_device(client).state == "draining")
        done.touch()
        assert first.result(timeout=60) == "xeon"
        first.release()  # the device waits for clients to fetch what it has for them
        assert loopback.ended("xeon") == 0
        assert present(client) == []
        assert not second.done()
    assert list(loopback.home("xeon").glob("scratch/**/worker-*")) == []


def test_a_second_interrupt_ends_the_measurement_too(loopback: Cluster, tmp_path: Path) -> None:
    loopback.start_device("red")
    run = RemoteProject(tmp_path, loopback, ["red"], compilers=["faulty:HangsMeasuring"]).start()
    wait_until(lambda: bool(agents_of(loopback, "red")))
    (agent,) = agents_of(loopback, "red")
    if hasattr(os, "SCHED_IDLE"):
        assert os.sched_getscheduler(loopback.pid("red")) == os.SCHED_IDLE, "what answers questions disturbs"
        assert os.sched_getscheduler(agent.pid) == os.sched_getscheduler(0), "what measures must not step back"
    loopback.signal("red", signal.SIGINT)
    loopback.wait_for("red", "leaving")
    loopback.signal("red", signal.SIGINT)
    assert loopback.ended("red") == 0
    wait_until(lambda: not agent.is_running())
    run.send_signal(signal.SIGINT)
    assert finished(run)[0] == 2


def test_a_device_is_stopped_by_command(loopback: Cluster) -> None:
    loopback.start_device("orin-1", "--device=orin")
    loopback.start_device("orin-2", "--device=orin")
    stopped = loopback.run("device", "stop", "orin")
    assert stopped.stdout.splitlines() == ["orin-1 leaves", "orin-2 leaves"], stopped.stderr
    assert [loopback.ended(name) for name in ("orin-1", "orin-2")] == [0, 0]
    missing = loopback.run("device", "stop", "orin")
    assert (missing.returncode, missing.stderr) == (2, "pytest-ngraph: unknown device 'orin'.\n")


def test_a_device_joins_a_scheduler_that_was_restarted(loopback: Cluster) -> None:
    loopback.start_device("xeon")
    loopback.kill("head")
    loopback.wait_for("xeon", "cannot join: nothing listens")
    loopback.start_scheduler()
    loopback.wait_for("xeon", "joined", times=2)
    with client_of(loopback) as client:
        assert the_device(client).name == "xeon"


def test_a_device_that_waits_for_its_scheduler_can_be_stopped(loopback: Cluster) -> None:
    loopback.kill("head")
    loopback.start_device("xeon", joins=False)
    loopback.wait_for("xeon", "cannot join: nothing listens")
    loopback.signal("xeon", signal.SIGTERM)
    assert loopback.ended("xeon") == 0


def test_a_measurement_goes_on_without_a_scheduler(loopback: Cluster, tmp_path: Path) -> None:
    loopback.start_device("xeon")
    lasting, next_one = tmp_path / "lasting", tmp_path / "next"
    next_one.touch()
    with client_of(loopback) as client:
        client.submit(wait_for_file, str(lasting), resources={resource("xeon"): 1})
        wait_until(lasting.with_suffix(".begun").exists)
        loopback.kill("head")
        loopback.wait_for("xeon", "lost")
    loopback.start_scheduler()
    loopback.wait_for("xeon", "joined", times=2)
    with client_of(loopback) as client:
        waiting = client.submit(wait_for_file, str(next_one), resources={resource("xeon"): 1})
        wait_until(lambda: the_device(client).state == "busy")
        assert not next_one.with_suffix(".begun").exists(), "two are measured at a time"
        lasting.touch()
        assert waiting.result(timeout=60) == "xeon"


def test_a_device_that_is_killed_leaves_no_scratch_for_the_next(loopback: Cluster) -> None:
    loopback.start_device("xeon")
    loopback.kill("xeon")
    loopback.start_device("xeon")
    loopback.signal("xeon", signal.SIGINT)
    assert loopback.ended("xeon") == 0
    assert list(loopback.home("xeon").glob("scratch/**/worker-*")) == []


def test_a_name_is_given_once(loopback: Cluster, tmp_path: Path) -> None:
    loopback.start_device("xeon")
    refused = loopback.run("device", "start", "--name=xeon", f"--folder={loopback.home('xeon')}")
    assert refused.returncode == 2
    assert "a device runs in" in refused.stderr
    namesake = Cluster(tmp_path / "namesake")
    try:
        namesake.start_device("xeon", f"--scheduler={loopback.address}", joins=False)
        namesake.wait_for("xeon", "the cluster has a device xeon already")
    finally:
        namesake.close()


def test_a_local_measurement_is_listed(loopback: Cluster) -> None:
    loopback.start_device("xeon")
    lock = Path(loopback.environment("xeon")["TMPDIR"]) / LOCK.name
    with client_of(loopback) as client, exclusive(lambda: None, lock):
        wait_until(lambda: the_device(client).state == "measured locally")
        assert the_device(client).state == "measured locally"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_scheduler_ends_on_a_signal(loopback: Cluster, number: signal.Signals) -> None:
    loopback.signal("head", number)
    assert loopback.ended("head") == 0
    assert list(Path(loopback.environment("head")["TMPDIR"]).iterdir()) == []


def test_nothing_is_open_beyond_the_address_given(loopback: Cluster) -> None:
    loopback.start_device("xeon")
    for machine in ("head", "xeon"):
        process = psutil.Process(loopback.pid(machine))
        connections = (getattr(process, "net_connections", None) or process.connections)("tcp")  # its name until 6.0
        assert {each.laddr.ip for each in connections if each.status == psutil.CONN_LISTEN} == {"127.0.0.1"}
