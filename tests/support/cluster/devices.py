"""A device for tests: this machine under another name."""

from __future__ import annotations

from pytest_ngraph.cluster.presence import JoinedDevice
from pytest_ngraph.machine.machine import environment, this_machine

ORIN = JoinedDevice(
    name="orin-1",
    pool="orin",
    address="tcp://orin",
    state="free",
    machine=this_machine().to_dict(),
    environment=environment(),
    compilers={},
)
