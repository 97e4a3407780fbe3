"""The network that other tests rely on: machines with their own addresses, and cables that can be pulled."""

from __future__ import annotations

import subprocess
import sys
import time

from cluster.network import Network
from cluster.processes import CLIENT, HEAD, Cluster

KNOCK = """
import socket, sys
try:
    socket.create_connection((sys.argv[1], 9), 1)
except ConnectionRefusedError:
    pass  # the machine is there, and refuses
"""


def reaches(network: Network, source: str, target: str) -> bool:
    command = [*network.on(source), sys.executable, "-c", KNOCK, network.address(target)]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def test_machines_reach_each_other_until_a_cable_is_pulled(network: Network) -> None:
    assert reaches(network, "orin", HEAD)
    assert reaches(network, "client", "orin")
    network.cut("orin")
    assert not reaches(network, "orin", HEAD)
    assert reaches(network, "xeon", HEAD)
    network.restore("orin")
    until = time.monotonic() + 10  # it takes a second or so until an end notices that its cable is back
    while not reaches(network, "orin", HEAD):
        assert time.monotonic() < until


def test_devices_join_under_their_own_addresses(three_devices: Cluster) -> None:
    listed = three_devices.run("device", "list", machine=CLIENT)
    heads = [line.split() for line in listed.stdout.splitlines() if not line.startswith(" ")]
    assert [(name, state) for name, state, *_ in heads] == [("gpu", "free"), ("orin", "free"), ("xeon", "free")], listed
    for name, _, address, *_ in heads:
        assert address.startswith(f"tls://{three_devices.place.address(name)}:")
