"""What is asked of a kind of device. A CPU's answers are the defaults."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pytest_ngraph.clock import Stopwatch, WallStopwatch
from pytest_ngraph.errors import Unsupported, UsageError
from pytest_ngraph.system.files import text_of

ROOT = Path("/")


class DeviceKind:
    """A kind of device.

    Attributes:
        torch: PyTorch's name of its devices; empty where PyTorch has none.
        openvino: OpenVINO's name of them; empty where OpenVINO has none.
        visible: the environment variable that lists the devices which a process may use. A worker is given the one
            that it uses, which is then the first to every library. Empty without one: the index names the device.
    """

    torch: str = ""
    openvino: str = ""
    visible: str = ""

    def found(self, root: Path = ROOT) -> tuple[str, ...]:
        """Return what identifies each device of this kind, in the order in which the system lists them."""
        return ()

    def only(self, index: int, environment: Mapping[str, str]) -> dict[str, str]:
        """Return the variables with which a worker sees only the device of this index, of those that we may use.

        Raises:
            UsageError: we may not use as many.
        """
        if not self.visible:
            return {}
        listed = self.listed(environment)
        if listed and index >= len(listed):
            raise UsageError(
                f"{self.chosen_by(environment)}={','.join(listed)} lists no device of index {index}. List one more "
                f"there, or give an index up to {len(listed) - 1} in devices.toml."
            )
        return {self.visible: listed[index] if listed else str(index)}

    def listed(self, environment: Mapping[str, str]) -> list[str]:
        """Return the devices that the user lists, by the names of `visible`; none where we may use all."""
        return [name for name in environment.get(self.chosen_by(environment), "").split(",") if name]

    def chosen_by(self, environment: Mapping[str, str]) -> str:
        """Return the variable by which the user lists them: `visible`, or another one that the libraries read."""
        return self.visible

    def device(self, index: int) -> str:
        """Return PyTorch's name of the device, in a worker."""
        if not self.torch:
            raise Unsupported(f"PyTorch has no devices of kind {type(self).__name__.lower()}")
        return f"{self.torch}:{index}" if index and not self.visible else self.torch

    def set_up(self, index: int) -> None:
        """Set PyTorch's state for this kind, in the process that measures."""

    def wait(self) -> None:
        """Return when the device has done everything that was issued."""

    def stopwatch(self) -> Stopwatch:
        """Return what times calls of PyTorch's models."""
        return WallStopwatch()

    def memory(self) -> tuple[int, int] | None:
        """Return the bytes that are free on the device and all bytes; None where it has no memory that is counted."""
        return None

    def give_back(self) -> None:
        """Give memory that PyTorch has freed back to the device."""

    def facts(self) -> dict[str, str]:
        """Return the choices that PyTorch makes for this kind, as facts of a record."""
        return {}


def pci(root: Path, devices: str, vendor: str, kind_of_class: str = "") -> tuple[str, ...]:
    """Return the PCI ids (`0x8086:0x56a0`) of a maker's devices.

    Args:
        devices: pattern of their folders below the root, such as `sys/class/accel/accel*/device`.
        vendor: the maker's PCI id.
        kind_of_class: how their PCI class begins; empty for any.
    """
    found = []
    for folder in sorted(root.glob(devices)):
        read = {name: text_of(folder / name) for name in ("vendor", "device", "class")}
        if read["vendor"] == vendor and read["class"].startswith(kind_of_class):
            found.append(f"{vendor}:{read['device']}")
    return tuple(found)
