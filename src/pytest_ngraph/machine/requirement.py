"""What a test may require of a device: the mark `requires_device`."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_ngraph.artifact import Kind
from pytest_ngraph.compilers import kinds
from pytest_ngraph.errors import UsageError
from pytest_ngraph.machine.machine import Machine, this_machine
from pytest_ngraph.system.installed import is_importable

if TYPE_CHECKING:
    from pytest_ngraph.machine.devices import Device


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """What a test needs of its device (the mark `requires_device`). None requires nothing.

    Attributes:
        kind: the kind of device.
        architecture: what `platform.machine()` must return.
        instruction_set: one of the processor's.
        capability: the least CUDA capability.
        memory_bytes: memory of the GPU on a `cuda` device, else of the machine.
        library: an importable module.
    """

    kind: Kind | None = None
    architecture: str | None = None
    instruction_set: str | None = None
    capability: tuple[int, int] | None = None
    memory_bytes: int | None = None
    library: str | None = None

    @classmethod
    def parse(cls, arguments: Mapping[str, Any]) -> Requirement:
        """Return what the mark's arguments require; `memory` is a size such as `8GiB`, `capability` a pair."""
        known = {*(field.name for field in dataclasses.fields(cls)), "memory"} - {"memory_bytes"}
        for key in arguments:
            if key not in known:
                raise UsageError.unknown("argument of requires_device", key, known)
        values = dict(arguments)
        if values.get("kind") not in (None, *kinds.names()):
            raise UsageError.unknown("kind in requires_device", values["kind"], kinds.names())
        for name in ("architecture", "instruction_set", "library"):
            if not isinstance(values.get(name), str | None):
                raise UsageError(f"requires_device({name}={values[name]!r}): give a string.")
        if "memory" in values:
            values["memory_bytes"] = parse_size(values.pop("memory"))
        if "capability" in values:
            pair = values["capability"]
            if not (isinstance(pair, tuple) and len(pair) == 2 and all(isinstance(v, int) for v in pair)):
                raise UsageError(f"requires_device(capability={pair!r}): give a pair such as (8, 0).")
        return cls(**values)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Requirement:
        """Return the requirement that has these fields as JSON-ready data."""
        return cls(**data | {"capability": tuple(data["capability"]) if data["capability"] else None})

    def unmet(
        self,
        device: Device,
        machine: Machine | None = None,
        has_library: Callable[[str], bool] = is_importable,
    ) -> str:
        """Return why the device does not meet this, as the reason of a skip; empty if it does."""
        machine = machine or this_machine()
        gpu = machine.gpus[device.index] if device.kind == "cuda" and device.index < len(machine.gpus) else None
        memory = gpu.memory_bytes if gpu else machine.memory_bytes  # a little less than the nominal size
        needs = {
            f"kind {self.kind}": self.kind in (None, device.kind),
            f"architecture {self.architecture}": self.architecture in (None, machine.architecture),
            f"instruction set {self.instruction_set}": self.instruction_set is None
            or self.instruction_set in machine.instruction_sets,
            f"CUDA capability {self.capability}": self.capability is None
            or (gpu is not None and gpu.capability >= self.capability),
            f"{(self.memory_bytes or 0) / 2**30:g} GiB of memory": round(memory / 2**30)
            >= (self.memory_bytes or 0) / 2**30,
            f"the library {self.library}": self.library is None or has_library(self.library),
        }
        missing = [need for need, met in needs.items() if not met]
        return f"device {device.name} lacks {', '.join(missing)}" if missing else ""


def parse_size(text: object) -> int:
    """Return the bytes of a size such as `8GiB`, `512MiB` or `1.5GB`."""
    match = re.fullmatch(r"(\d{1,15}(?:\.\d+)?)\s*([KMGT]i?)?B", str(text).strip())
    if not match:
        raise UsageError(f"{text!r} is not a size. Write it as 8GiB, 512MiB or 1.5GB.")
    prefix = match[2] or ""
    base = 1024 if prefix.endswith("i") else 1000
    return int(float(match[1]) * base ** " KMGT".index(prefix[:1] or " "))
