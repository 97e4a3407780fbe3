"""Several machines on one: each a network namespace with its own address and a cable that can be pulled."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from functools import cache

from cluster.processes import HEAD

DEVICES = ("xeon", "gpu", "orin")
SUBNET = "10.199.0"


class Network:
    """A network whose machine `head` is also the switch: the cables of all others end in it."""

    def __init__(self, machines: Sequence[str]) -> None:
        self._addresses = {name: f"{SUBNET}.{number}" for number, name in enumerate((HEAD, *machines), start=1)}
        self._made: list[str] = []
        try:
            self._make(machines)
        except BaseException:
            self.close()
            raise

    def address(self, machine: str) -> str:
        return self._addresses[machine]

    def on(self, machine: str) -> Sequence[str]:
        return ("ip", "netns", "exec", _namespace(machine))

    def cut(self, machine: str) -> None:
        """Pull the machine's cable. Both ends notice only that nothing arrives any more."""
        _ip("-n", _namespace(HEAD), "link", "set", self._cable(machine), "down")

    def restore(self, machine: str) -> None:
        _ip("-n", _namespace(HEAD), "link", "set", self._cable(machine), "up")

    def close(self) -> None:
        """Remove the namespaces and their cables. All processes in them must have ended."""
        for namespace in self._made:
            _ip("netns", "delete", namespace)
        self._made.clear()

    def _make(self, machines: Sequence[str]) -> None:
        for machine in self._addresses:
            _ip("netns", "add", _namespace(machine))
            self._made.append(_namespace(machine))
            _ip("-n", _namespace(machine), "link", "set", "lo", "up")
        _ip("-n", _namespace(HEAD), "link", "add", "switch", "type", "bridge")
        self._up(HEAD, "switch")
        for machine in machines:
            end = ("type", "veth", "peer", "name", "cable", "netns", _namespace(machine))
            _ip("-n", _namespace(HEAD), "link", "add", self._cable(machine), *end)
            _ip("-n", _namespace(HEAD), "link", "set", self._cable(machine), "master", "switch", "up")
            self._up(machine, "cable")

    def _up(self, machine: str, link: str) -> None:
        _ip("-n", _namespace(machine), "address", "add", f"{self._addresses[machine]}/24", "dev", link)
        _ip("-n", _namespace(machine), "link", "set", link, "up")

    def _cable(self, machine: str) -> str:
        """Return the name of the cable's end at the head. Names of links have at most 15 letters."""
        return f"to{self._addresses[machine].rpartition('.')[2]}"


@cache
def unavailable() -> str:
    """Return why such a network cannot be made here; empty if it can."""
    if shutil.which("ip") is None:
        return "network namespaces need the command ip (iproute2)"
    try:
        network = Network(["probe"])
    except subprocess.CalledProcessError as error:
        return f"network namespaces cannot be made here: {error.stderr.strip()}"
    ran = subprocess.run([*network.on("probe"), "true"], capture_output=True, text=True, check=False)
    network.close()
    return f"nothing runs in a network namespace here: {ran.stderr.strip()}" if ran.returncode else ""


def _namespace(machine: str) -> str:
    """Return the machine's namespace, a name that no other test run uses."""
    return f"ngraph-{os.getpid()}-{machine}"


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True)
