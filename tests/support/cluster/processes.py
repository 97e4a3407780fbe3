"""A real cluster: its scheduler and each device are processes of `pytest-ngraph`, each with its own log."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import warm
from fault_project import wait_until

COMMAND = (sys.executable, "-m", "pytest_ngraph.cli")
AT_NORMAL_PRIORITY = (sys.executable, "-m", "cluster.normal_priority")
HEAD, CLIENT = "head", "client"
SUPPORT = Path(__file__).parents[1]


class Place(Protocol):
    """Where the processes of a cluster run. Machines have names."""

    def address(self, machine: str) -> str:
        """Return the IP address of a machine."""
        ...

    def on(self, machine: str) -> Sequence[str]:
        """Return what a command has to begin with to run on a machine."""
        ...


class Loopback:
    """All machines of the cluster are this one."""

    def address(self, machine: str) -> str:
        del machine
        return "127.0.0.1"

    def on(self, machine: str) -> Sequence[str]:
        del machine
        return ()


class Cluster:
    """A cluster whose processes are started and ended one by one; `close` kills those that are left.

    Each device has its own temporary folder, and therefore its own lock, so devices on one machine measure in parallel.

    Args:
        root: folder for the folders of its machines.
        place: where its machines are. Without one, all are this machine, and their Pythons start warm.
        options: of each of its processes.
        start: the command that starts devices.

    Attributes:
        is_warm: whether their Pythons start warm.
    """

    def __init__(
        self,
        root: Path,
        place: Place | None = None,
        options: Sequence[str] = (),
        start: Sequence[str] = AT_NORMAL_PRIORITY,
    ) -> None:
        self.root = root
        self.place = place or Loopback()
        self.is_warm = place is None and warm.POSSIBLE
        self._options = tuple(options) or ("--insecure",)  # other people may have accounts on the machine that tests
        self._device_command = start
        self._port = _free_port()
        self._processes: dict[str, subprocess.Popen[bytes] | warm.WarmProcess] = {}

    @property
    def address(self) -> str:
        """The scheduler's address."""
        scheme = "tls" if any(option.startswith("--tls") for option in self._options) else "tcp"
        return f"{scheme}://{self.place.address(HEAD)}:{self._port}"

    @property
    def client_options(self) -> Sequence[str]:
        """Options of a pytest run that measures on this cluster."""
        tls = (option.replace("--tls", "--ngraph-tls", 1) for option in self._options)
        tls = ("--ngraph-insecure-cluster" if option == "--insecure" else option for option in tls)
        return (f"--ngraph-scheduler={self.address}", *tls)

    def start_scheduler(self) -> None:
        self._start(HEAD, COMMAND, "cluster", "scheduler", f"--address={self.address}")
        self.wait_for(HEAD, "scheduler at")

    def start(self, *devices: str) -> None:
        """Start the scheduler and these devices, at once, and wait until they have joined."""
        self.start_scheduler()
        for device in devices:
            self.start_device(device, joins=False)
        for device in devices:
            self.wait_for(device, "joined")

    def start_device(self, name: str, *options: str, joins: bool = True) -> None:
        """Start a device. If `joins`, wait until it has joined."""
        self._start(
            name, self._device_command, "device", "start", f"--name={name}", f"--scheduler={self.address}", *options
        )
        if joins:
            self.wait_for(name, "joined")

    def run(self, *arguments: str, machine: str = HEAD) -> subprocess.CompletedProcess[str]:
        """Run a command of `pytest-ngraph` with this cluster's scheduler until it ends."""
        options = (f"--scheduler={self.address}", *self._options)
        command = [*self.place.on(machine), *COMMAND, *arguments[:2], *options, *arguments[2:]]
        environment = self.environment(machine)
        if not self.is_warm:
            return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
        with tempfile.TemporaryFile("w+") as stdout, tempfile.TemporaryFile("w+") as stderr:
            status = warm.start(command, environment, stdout, stderr).wait(timeout=60)
            printed = [file.read() for file in (stdout, stderr) if not file.seek(0)]
        return subprocess.CompletedProcess(command, status, *printed)

    def environment(self, machine: str) -> dict[str, str]:
        """Return a process's environment: its own folders, and `cluster.tasks` importable."""
        temporary = self.root / machine / "tmp"
        temporary.mkdir(parents=True, exist_ok=True)
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
        folders = {"TMPDIR": str(temporary), "XDG_STATE_HOME": str(self.home(machine).parents[1])}
        path = os.pathsep.join(filter(None, (str(SUPPORT), kept.get("PYTHONPATH"))))
        return kept | folders | {"PYTHONPATH": path}

    def home(self, device: str) -> Path:
        """Return the folder of a device."""
        return self.root / device / "state" / "pytest-ngraph" / f"device-{device}"

    def pid(self, machine: str) -> int:
        return self._processes[machine].pid

    def log(self, machine: str) -> str:
        """Return what the machine's process has printed since it was last started."""
        return self._log(machine).read_text()

    def wait_for(self, machine: str, text: str, times: int = 1) -> str:
        """Wait until the machine's process has printed a text so many times. Returns all that it has printed."""
        process = self._processes[machine]
        wait_until(lambda: self.log(machine).count(text) >= times or process.poll() is not None)
        assert self.log(machine).count(text) >= times, self.log(machine)
        return self.log(machine)

    def signal(self, machine: str, number: signal.Signals) -> None:
        self._processes[machine].send_signal(number)

    def kill(self, machine: str) -> None:
        """Kill the machine's process, as a power failure would."""
        self._processes[machine].kill()
        self._processes[machine].wait(timeout=60)

    def is_over(self, machine: str) -> bool:
        """Return whether the machine's process has ended, by itself or not."""
        return self._processes[machine].poll() is not None

    def ended(self, machine: str) -> int:
        """Wait for the machine's process to end by itself, and return its exit status."""
        return self._processes[machine].wait(timeout=60)

    def start_other(self, machine: str, *command: str) -> None:
        """Start any other program, and wait until it says that it has joined."""
        self._run(machine, command)
        self.wait_for(machine, "joined")

    def _start(self, machine: str, command: Sequence[str], *arguments: str) -> None:
        self._run(machine, [*command, *arguments[:2], *self._options, *arguments[2:]])

    def _run(self, machine: str, command: Sequence[str]) -> None:
        environment = self.environment(machine)
        with self._log(machine).open("w") as log:
            self._processes[machine] = (
                warm.start(command, environment, log, log)
                if self.is_warm
                else subprocess.Popen(
                    [*self.place.on(machine), *command], env=environment, stdout=log, stderr=subprocess.STDOUT
                )
            )

    def _log(self, machine: str) -> Path:
        return self.root / machine / "log"

    def close(self) -> None:
        for process in self._processes.values():
            process.kill()
            process.wait(timeout=60)


@contextmanager
def started(root: Path, *devices: str) -> Iterator[Cluster]:
    """Start a cluster without certificates on this machine; these devices have joined."""
    cluster = Cluster(root)
    try:
        cluster.start(*devices)
        yield cluster
    finally:
        cluster.close()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
