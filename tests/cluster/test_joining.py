"""A device's life: it joins, is listed, loses its scheduler, leaves."""

from __future__ import annotations

import signal
import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psutil
import pytest
from cluster.certificates import options_for
from cluster.processes import Cluster, Loopback
from cluster.remote_project import RemoteProject, agents_of
from cluster.tasks import wait_for_file
from distributed import Client
from fault_project import finished, wait_until

from pytest_ngraph.bench.processes.lock import LOCK, exclusive
from pytest_ngraph.cluster.connection import connect
from pytest_ngraph.cluster.presence import JoinedDevice, present
from pytest_ngraph.cluster.resources import resource
from pytest_ngraph.cluster.security import endpoint
from pytest_ngraph.machine.machine import Machine


def client_of(cluster: Cluster) -> Client:
    return connect(endpoint(cluster.address, None, insecure=True))


def find(client: Client, name: str) -> JoinedDevice:
    """Return the only device of this name."""
    (found,) = [device for device in present(client).devices if device.name == name]
    return found


@pytest.fixture(scope="module")
def orin(lasting: Cluster) -> Iterator[Cluster]:
    """The lasting cluster with the device `orin-1`, one of those that tests ask for as `orin`."""
    lasting.start_device("orin-1", "--device=orin")
    yield lasting
    lasting.kill("orin-1")


def test_a_device_is_listed_and_offers_itself_once(orin: Cluster) -> None:
    with client_of(orin) as client:
        device = find(client, "orin-1")
        assert (device.pool, device.state) == ("orin", "free")
        assert Machine.from_dict(device.machine).fingerprint == device.environment["fingerprint"]
        assert "identity" in device.installed
        ran = client.submit(pow, 3, 2, resources={resource("orin"): 1}, pure=False)
        assert ran.result(timeout=60) == 9


def test_a_device_that_measures_is_busy_and_finishes_before_it_leaves(lasting: Cluster, tmp_path: Path) -> None:
    lasting.start_device("leaver")
    done = tmp_path / "done"
    with client_of(lasting) as client:
        first = client.submit(wait_for_file, str(done), resources={resource("leaver"): 1})
        second = client.submit(wait_for_file, str(done), resources={resource("leaver"): 1}, pure=False)
        wait_until(done.with_suffix(".begun").exists)
        assert find(client, "leaver").state == "busy"
        lasting.signal("leaver", signal.SIGTERM)
        lasting.wait_for("leaver", "leaving")
        wait_until(lambda: find(client, "leaver").state == "draining")
        done.touch()
        assert first.result(timeout=60) == "leaver"
        first.release()  # the device waits for clients to fetch what it has for them
        assert lasting.ended("leaver") == 0
        assert "leaver" not in [device.name for device in present(client).devices]
        assert not second.done()
    assert list(lasting.home("leaver").glob("scratch/**/worker-*")) == []


def test_a_second_interrupt_ends_the_measurement_too(lasting: Cluster, tmp_path: Path) -> None:
    lasting.start_device("interrupted")
    run = RemoteProject(tmp_path, lasting, ["interrupted"], compilers=["faulty:HangsMeasuring"]).start()
    wait_until(lambda: run.poll() is not None or bool(agents_of(lasting, "interrupted")))
    assert run.poll() is None, finished(run)
    (agent,) = agents_of(lasting, "interrupted")
    lasting.signal("interrupted", signal.SIGINT)
    lasting.wait_for("interrupted", "leaving")
    lasting.signal("interrupted", signal.SIGINT)
    assert lasting.ended("interrupted") == 0
    wait_until(lambda: not agent.is_running())
    run.send_signal(signal.SIGINT)
    assert finished(run)[0] == 2


def test_a_device_joins_over_ipv6(tmp_path: Path, authority: Path) -> None:
    class Loopback6(Loopback):
        """All machines are this one, by its other address."""

        def address(self, machine: str) -> str:
            return "[::1]"

    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError as error:
        pytest.skip(f"this machine has no IPv6: {error}")
    with closing(Cluster(tmp_path, Loopback6(), options_for(authority))) as cluster:
        cluster.start("xeon")
        assert "joined tls://[::1]:" in cluster.log("xeon")
        listed = cluster.run("device", "list").stdout
        assert listed.startswith("xeon  free  tls://[::1]:"), listed


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
        assert find(client, "xeon").state == "free"


def test_a_device_that_waits_for_its_scheduler_can_be_stopped(tmp_path: Path) -> None:
    with closing(Cluster(tmp_path)) as cluster:
        cluster.start_device("xeon", joins=False)
        assert "(it tries again every 5 s)" in cluster.wait_for("xeon", "cannot join: nothing listens")
        cluster.signal("xeon", signal.SIGTERM)
        assert cluster.ended("xeon") == 0


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
        wait_until(lambda: find(client, "xeon").state == "busy")
        assert not next_one.with_suffix(".begun").exists(), "two are measured at a time"
        lasting.touch()
        assert waiting.result(timeout=60) == "xeon"


def test_a_device_that_is_killed_leaves_no_scratch_for_the_next(lasting: Cluster) -> None:
    lasting.start_device("killed")
    lasting.kill("killed")
    lasting.start_device("killed")
    lasting.signal("killed", signal.SIGINT)
    assert lasting.ended("killed") == 0
    assert list(lasting.home("killed").glob("scratch/**/worker-*")) == []


def test_a_name_is_given_once(orin: Cluster, tmp_path: Path) -> None:
    refused = orin.run("device", "start", "--name=orin-1", f"--folder={orin.home('orin-1')}")
    assert refused.returncode == 2
    assert "a device runs in" in refused.stderr
    with closing(Cluster(tmp_path / "namesake")) as namesake:
        namesake.start_device("orin-1", f"--scheduler={orin.address}", joins=False)
        namesake.wait_for("orin-1", "the cluster has a device orin-1 already")


def test_a_local_measurement_is_listed(orin: Cluster) -> None:
    lock = Path(orin.environment("orin-1")["TMPDIR"]) / LOCK.name
    with client_of(orin) as client, exclusive(lambda reason: None, lock):
        wait_until(lambda: find(client, "orin-1").state == "measured locally")
        assert find(client, "orin-1").state == "measured locally"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_scheduler_ends_on_a_signal(loopback: Cluster, number: signal.Signals) -> None:
    loopback.signal("head", number)
    assert loopback.ended("head") == 0
    assert list(Path(loopback.environment("head")["TMPDIR"]).iterdir()) == []


def test_nothing_is_open_beyond_the_address_given(orin: Cluster) -> None:
    for machine in ("head", "orin-1"):
        process = psutil.Process(orin.pid(machine))
        connections = (getattr(process, "net_connections", None) or process.connections)("tcp")  # its name until 6.0
        assert {each.laddr.ip for each in connections if each.status == psutil.CONN_LISTEN} == {"127.0.0.1"}
