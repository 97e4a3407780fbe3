"""Fixtures: clusters on this machine, networks and certificates."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from cluster.certificates import issued, options_for
from cluster.network import DEVICES, Network, unavailable
from cluster.processes import CLIENT, Cluster, started


@pytest.fixture
def loopback(tmp_path: Path) -> Iterator[Cluster]:
    """A cluster of the test's own without certificates, all of it on this machine; its scheduler runs."""
    with started(tmp_path) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def lasting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Such a cluster for all tests that do not end its scheduler. They give their devices names of their own."""
    with started(tmp_path_factory.mktemp("cluster")) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def two(lasting: Cluster) -> Cluster:
    """The cluster `lasting` with the devices `red` and `green`, which no test ends."""
    for device in ("red", "green"):
        lasting.start_device(device, joins=False)
    for device in ("red", "green"):
        lasting.wait_for(device, "joined")
    return lasting


@pytest.fixture
def network() -> Iterator[Network]:
    """A head, a client and three devices, each with an address of its own."""
    if reason := unavailable():
        pytest.skip(reason)
    network = Network([CLIENT, *DEVICES])
    yield network
    network.close()


@pytest.fixture
def three_devices(
    tmp_path: Path, network: Network, authority: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Cluster]:
    """A cluster on that network, with certificates; its scheduler runs, and the devices `xeon`, `gpu` and `orin` have
    joined. A pulled cable is noticed after 12 seconds instead of 30."""
    monkeypatch.setenv("DASK_DISTRIBUTED__COMM__TIMEOUTS__TCP", "12s")
    cluster = Cluster(tmp_path, network, options_for(authority))
    try:
        cluster.start(*DEVICES)
        yield cluster
    finally:
        cluster.close()


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with certificates and the authority that issued them."""
    return issued(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="session")
def foreign_authority(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Another such folder, whose authority no cluster knows."""
    return issued(tmp_path_factory.mktemp("foreign"))
