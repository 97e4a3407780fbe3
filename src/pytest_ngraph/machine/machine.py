"""What this machine is, found out without importing a framework."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import platform
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from pytest_ngraph.artifact import Kind
from pytest_ngraph.compilers import kinds
from pytest_ngraph.compilers.threads import is_bound
from pytest_ngraph.machine import cgroup
from pytest_ngraph.machine.cores import allowed, capacities, chosen, idle_shares, usable
from pytest_ngraph.machine.processor import Processor, for_computing, text, this_processor
from pytest_ngraph.system.installed import cxx_version, library_versions, variables
from pytest_ngraph.system.support import lacking
from pytest_ngraph.wording import counted, number_in

if TYPE_CHECKING:
    from pytest_ngraph.machine.gpus import Gpu

FINGERPRINT, EARLIER_FINGERPRINT = "fingerprint", "earlier fingerprint"
"""Facts of an environment. The second is what earlier versions gave as the first; they did not store it."""
MODEL = ("processor model", "microcode", "instruction sets")
"""Facts of an environment that the fingerprint depends on, and that the processor's name does not show."""
BESIDE_MEMORY = ("architecture", "processor", *MODEL, "logical CPUs", "gpu", "accelerators", "power")
"""Facts that the fingerprint depends on besides the memory and the number of cores."""
SAME_MEMORY = 0.05
"""The share by which the memory of one machine may differ from kernel to kernel."""
SAME_FINGERPRINT = "machines with other processors may have the same fingerprint"
LACKING = "not offered by the system"
"""The fact that says what results lack because the system does not offer it."""
CXX = "C++ compiler"
"""Name of the fact that says which C++ compiler a machine has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """A machine's hardware.

    Attributes:
        architecture: as `platform.machine()` returns it.
        processor: the processor's name.
        instruction_sets: those of the processor, by Linux's names.
        cores: logical CPUs that this process may use: one per physical core, at most as many as its CPU quota allows.
            If it allows fewer, they are chosen when this is first asked, and may be others in the next session.
        logical_cpus: how many logical CPUs are online.
        memory_bytes: memory of the machine, or the limit of the container.
        gpus: NVIDIA GPUs.
        driver: version of their kernel driver; empty if there is none.
        accelerators: what the system lists of other kinds, each as kind and device: `npu 0x8086:0x7d1d`.
        power: settings that the speed of a GPU or a board depends on, each as name and value: `power limit 300 W`.
        model: the processor's numbers, as `Processor.model` has them; empty if they are not known.
        microcode: the revision of the processor's microcode; empty if it is not known.
        quota: the whole CPUs that its CPU quota allows; None without a quota.
        usable: the logical CPUs that this process may use; empty if an earlier version reported the machine.
    """

    architecture: str
    processor: str
    instruction_sets: frozenset[str]
    cores: tuple[int, ...]
    logical_cpus: int
    memory_bytes: int
    gpus: tuple[Gpu, ...]
    driver: str = ""
    accelerators: tuple[str, ...] = ()
    power: tuple[str, ...] = ()
    model: str = ""
    microcode: str = ""
    quota: int | None = None
    usable: tuple[int, ...] = ()

    @property
    def fingerprint(self) -> str:
        """A hash, equal for machines whose timings can be compared: same processor, usable cores, memory size, GPUs.

        The processor's name is not enough: several generations are called `Intel(R) Xeon(R) Processor`. So its model,
        microcode and instruction sets count as well, where the system reports them.
        """
        known = "|".join((self.model, self.microcode, *self.for_computing, *self.accelerators, *self.power))
        return _hash(f"{self._described}|{known}" if known.strip("|") else self._described)

    @property
    def earlier_fingerprint(self) -> str:
        """The fingerprint as earlier versions computed it, under which they stored baselines and calibrations."""
        return _hash(self._described)

    def accelerators_of(self, kind: Kind) -> tuple[str, ...]:
        """Return the machine's devices of a kind, in the order of their index."""
        if kind == "cuda":
            return tuple(gpu.name for gpu in self.gpus)
        named = (each.partition(" ") for each in self.accelerators)
        return tuple(device for of_kind, _, device in named if of_kind == kind)

    @property
    def for_computing(self) -> list[str]:
        """The instruction sets that code is chosen by, without those that only show which kernel runs."""
        return for_computing(self.instruction_sets, self.architecture)

    @property
    def _described(self) -> str:
        gib = round(self.memory_bytes / 2**30)
        gpus = tuple((gpu.name, gpu.capability, round(gpu.memory_bytes / 2**30)) for gpu in self.gpus)
        return f"{self.architecture}|{self.processor}|{len(self.cores)}|{self.logical_cpus}|{gib}|{gpus}"

    def to_dict(self) -> dict[str, Any]:
        """Return the machine as JSON-ready data."""
        sets = sorted(self.instruction_sets)
        return dataclasses.asdict(self) | {"instruction_sets": sets, "cores": list(self.cores)}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Machine:
        """Return the machine that `to_dict` made this data of."""
        from pytest_ngraph.machine.gpus import Gpu

        gpus = tuple(Gpu(**gpu | {"capability": tuple(gpu["capability"])}) for gpu in data["gpus"])
        sets = frozenset(data["instruction_sets"])
        lists = {name: tuple(data.get(name, ())) for name in ("cores", "accelerators", "power", "usable")}
        return cls(**data | lists | {"instruction_sets": sets, "gpus": gpus})


@cache
def this_machine() -> Machine:
    """Return the machine that this process runs on."""
    from pytest_ngraph.machine import gpus

    processor, quota = _processor(), cgroup.cpus()
    found = gpus.found()
    return Machine(
        architecture=platform.machine(),
        processor=processor.name,
        model=processor.model,
        microcode=processor.microcode,
        instruction_sets=processor.instruction_sets,
        cores=_cores(quota),
        quota=quota,
        usable=tuple(sorted(usable())),
        logical_cpus=os.cpu_count() or 1,
        memory_bytes=_memory_bytes(),
        gpus=found,
        power=_power(found),
        driver=gpus.driver_version(),
        accelerators=tuple(f"{kind} {device}" for kind in kinds.names() for device in kinds.named(kind).found()),
    )


def machine_now() -> Machine:
    """Return the machine that this process runs on, with the settings that it has now."""
    return dataclasses.replace(this_machine(), power=power_now())


def power_now() -> tuple[str, ...]:
    """Return the settings that the machine's speed depends on, as they are now."""
    return _power(this_machine().gpus)


@cache
def in_words() -> str:
    """Describe this machine without asking CUDA's driver, such as `AMD EPYC, 2 cores` or `..., NVIDIA H200`.

    Once a process has asked that driver, its forked children cannot use CUDA. So only processes that measure ask it.
    """
    from pytest_ngraph.machine import gpus

    return ", ".join([_processor().name, counted(_count(cgroup.cpus()), "core"), *_counted(gpus.listed())])


def environment(machine: Machine | None = None) -> dict[str, str]:
    """Return the facts stored with the results: the machine (None for this one), its settings, libraries' versions."""
    machine = machine or this_machine()
    facts = {
        FINGERPRINT: machine.fingerprint,
        EARLIER_FINGERPRINT: machine.earlier_fingerprint,
        "architecture": machine.architecture,
        "processor": machine.processor,
        "processor model": machine.model,
        "microcode": machine.microcode,
        "instruction sets": " ".join(machine.for_computing),
        "cores": ",".join(map(str, machine.cores)),
        "core capacities": capacities(machine.cores),
        "logical CPUs": str(machine.logical_cpus),
        "memory": f"{machine.memory_bytes / 2**30:.1f} GiB",
        "gpu": "; ".join(gpu.name for gpu in machine.gpus),
        "driver": machine.driver,
        "accelerators": "; ".join(machine.accelerators),
        "power": "; ".join(machine.power),
        "system": f"{platform.system()} {platform.release()}",
        "governor": _governor(),
        "python": platform.python_version(),
        LACKING: "; ".join(lacking() + _unknown(machine)),
        CXX: cxx_version(),
    }
    return {name: value for name, value in facts.items() if value} | library_versions() | variables()


def is_same_machine(then: Mapping[str, str], now: Mapping[str, str]) -> bool:
    """Return whether a stored environment is of the machine of another, as far as both know.

    An environment stored by an earlier version knows only the fingerprint of its time, and is compared by that.
    """
    key = FINGERPRINT if EARLIER_FINGERPRINT in then else EARLIER_FINGERPRINT
    return then.get(FINGERPRINT) == now.get(key, now.get(FINGERPRINT)) or _reports_other_memory(then, now)


def _reports_other_memory(then: Mapping[str, str], now: Mapping[str, str]) -> bool:
    """Return whether two fingerprints differ only because a kernel reports a little more memory than another.

    A fingerprint has the memory in whole GiB. Where it was rounded to others, the earlier fingerprints differ as well.
    """
    if then.get(EARLIER_FINGERPRINT) in (None, now.get(EARLIER_FINGERPRINT)):
        return False
    if any(then.get(name) != now.get(name) for name in BESIDE_MEMORY):
        return False
    cores = {len(facts.get("cores", "").split(",")) for facts in (then, now)}
    less, more = sorted(number_in(facts.get("memory", "").removesuffix("GiB")) for facts in (then, now))
    return len(cores) == 1 and 0 < more <= less * (1 + SAME_MEMORY)


def environment_in_words(facts: Mapping[str, str]) -> str:
    """Describe any machine by its `environment`, such as `AMD EPYC, 2 cores` or `..., NVIDIA H200`."""
    processor = facts.get("processor") or facts["architecture"]
    devices = _counted(facts["gpu"].split("; ") if "gpu" in facts else [])
    return ", ".join([processor, counted(len(facts["cores"].split(",")), "core"), *devices])


def _counted(names: Sequence[str]) -> list[str]:
    """Return each name once, with how many there are: `2 x NVIDIA H200`."""
    return [name if count == 1 else f"{count} x {name}" for name, count in Counter(names).items()]


def memory_share_in_use() -> float:
    """Return the share in use of this machine's memory, or of the container's limit, whichever is larger."""
    import psutil

    shares = [psutil.virtual_memory().percent / 100]
    shares += [group.in_use / group.limit for group in cgroup.memory() if group.in_use is not None]
    return max(shares)


@cache
def _processor() -> Processor:
    return this_processor()


def _unknown(machine: Machine) -> list[str]:
    """Return what results lack because a processor has no name, or nothing can be asked of a GPU's driver."""
    from pytest_ngraph.machine import nvml

    named = machine.processor or machine.model
    asked = not machine.gpus or nvml.library()
    return ([] if named else [SAME_FINGERPRINT]) + ([] if asked else [nvml.MISSING])


def _power(found: tuple[Gpu, ...]) -> tuple[str, ...]:
    """Return the settings of the board, and of each GPU, that its speed depends on."""
    from pytest_ngraph.machine import jetson, nvml

    settings = [each for gpu in found for each in nvml.Device(gpu.bus).settings().items()]
    if found:
        settings += jetson.settings().items()
    return tuple(f"{name} {value}" for name, value in settings)


def _hash(described: str) -> str:
    return hashlib.sha256(described.encode()).hexdigest()[:12]


def _count(quota: int | None) -> int:
    return min(len(allowed()), quota or sys.maxsize)


def _cores(quota: int | None) -> tuple[int, ...]:
    """Return the logical CPUs to compute on: under a quota that allows fewer, idle ones of those that are usable."""
    cores, count = allowed(), _count(quota)
    # Where a worker is bound, the process that started it has chosen, and the worker is sent its cores.
    if count == len(cores) or is_bound():
        return tuple(core.cpu for core in cores[:count])
    return chosen(cores, count, idle_shares())


def _memory_bytes() -> int:
    """Return the memory of this machine, or the limit of the container."""
    import psutil  # slow to import, and not needed for collecting quietly

    total: int = psutil.virtual_memory().total
    return min(total, cgroup.memory_bytes() or total)


def _governor() -> str:
    return text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor").strip()
