"""What a device's tasks share: who it is, what it allows, and what measures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from distributed import Worker, WorkerPlugin

from pytest_ngraph.cluster.device.arriving import Arriving
from pytest_ngraph.cluster.device.folder import DeviceFolder
from pytest_ngraph.cluster.device.policy import Policy
from pytest_ngraph.cluster.device.quiet import Quiet
from pytest_ngraph.cluster.device.quotas import Enforcer, Quotas
from pytest_ngraph.cluster.device.resident import Resident
from pytest_ngraph.cluster.resources import KEY
from pytest_ngraph.machine import nvml
from pytest_ngraph.machine.health import Health, read
from pytest_ngraph.machine.machine import this_machine

Say = Callable[[str], None]


@dataclass(kw_only=True, eq=False)
class DevicePlugin(WorkerPlugin):
    """What a task needs of its device. It outlives the engine's worker, of which each connection makes a new one.

    Attributes:
        device: the device's own name.
        pool: the device that tests ask for.
        folder: what the device keeps on disk.
        policy: when nothing is measured.
        quotas: how much is kept on disk.
        stop: begins to leave the cluster; the second call does not wait for the measurement under way.
        say: prints a line.
        resident: holds the agent, which measures.
        quiet: keeps chores apart from measurements.
        enforcer: enforces the quotas.
        arriving: the archive that arrives.
    """

    device: str
    pool: str
    folder: DeviceFolder
    policy: Policy = field(default_factory=Policy)
    quotas: Quotas = field(default_factory=Quotas)
    stop: Callable[[], None] = lambda: None
    say: Say = lambda line: None
    resident: Resident = field(default_factory=Resident)
    quiet: Quiet = field(default_factory=Quiet)
    enforcer: Enforcer = field(default_factory=Enforcer)
    arriving: Arriving = field(init=False)

    name = KEY

    def __post_init__(self) -> None:
        self.arriving = Arriving(self.folder.arriving)

    def health(self) -> Health:
        """Return how the machine is now."""
        gpus = [nvml.Device(gpu.bus) for gpu in this_machine().gpus]
        return read(self.folder.path, gpus=gpus)

    def close(self) -> None:
        """Stop what is measured on this device for any client. Must be called in the device's own process."""
        self.quiet.close()
        self.resident.close()


def plugin_of(worker: Worker) -> DevicePlugin:
    """Return the plugin of a device's worker."""
    plugin = worker.plugins[KEY]
    assert isinstance(plugin, DevicePlugin)
    return plugin
