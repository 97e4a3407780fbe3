"""What this machine is, found out without importing a framework."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import platform
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_ngraph.machine import cgroup
from pytest_ngraph.system.installed import library_versions, variables
from pytest_ngraph.wording import counted

if TYPE_CHECKING:
    from pytest_ngraph.machine.gpus import Gpu


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """A machine's hardware.

    Attributes:
        architecture: as `platform.machine()` returns it.
        processor: the processor's name.
        instruction_sets: those of the processor, by Linux's names.
        cores: logical CPUs that this process may use: one per physical core, at most as many as its CPU quota allows.
        logical_cpus: all logical CPUs.
        memory_bytes: memory of the machine, or the limit of the container.
        gpus: NVIDIA GPUs.
        driver: version of their kernel driver; empty if there is none.
    """

    architecture: str
    processor: str
    instruction_sets: frozenset[str]
    cores: tuple[int, ...]
    logical_cpus: int
    memory_bytes: int
    gpus: tuple[Gpu, ...]
    driver: str = ""

    @property
    def fingerprint(self) -> str:
        """A hash, equal for machines whose timings can be compared: same processor, usable cores, memory size, GPUs."""
        gib = round(self.memory_bytes / 2**30)
        gpus = tuple((gpu.name, gpu.capability, round(gpu.memory_bytes / 2**30)) for gpu in self.gpus)
        text = f"{self.architecture}|{self.processor}|{len(self.cores)}|{self.logical_cpus}|{gib}|{gpus}"
        return hashlib.sha256(text.encode()).hexdigest()[:12]

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
        return cls(**data | {"instruction_sets": sets, "cores": tuple(data["cores"]), "gpus": gpus})


@cache
def this_machine() -> Machine:
    """Return the machine that this process runs on."""
    from pytest_ngraph.machine import gpus

    model, flags = _processor()
    return Machine(
        architecture=platform.machine(),
        processor=model,
        instruction_sets=flags,
        cores=_cores(),
        logical_cpus=os.cpu_count() or 1,
        memory_bytes=_memory_bytes(),
        gpus=gpus.found(),
        driver=gpus.driver_version(),
    )


@cache
def in_words() -> str:
    """Describe this machine without asking the GPUs' driver, such as `AMD EPYC, 2 cores`.

    Once a process has asked the driver, its forked children cannot use CUDA. So only processes that measure ask it.
    """
    return f"{_processor()[0]}, {counted(len(_cores()), 'core')}"


def environment() -> dict[str, str]:
    """Return the facts stored with the results: the machine, its settings and the installed libraries' versions."""
    machine = this_machine()
    facts = {
        "fingerprint": machine.fingerprint,
        "architecture": machine.architecture,
        "processor": machine.processor,
        "cores": ",".join(map(str, machine.cores)),
        "logical CPUs": str(machine.logical_cpus),
        "memory": f"{machine.memory_bytes / 2**30:.1f} GiB",
        "gpu": "; ".join(gpu.name for gpu in machine.gpus),
        "driver": machine.driver,
        "system": f"{platform.system()} {platform.release()}",
        "governor": _governor(),
        "python": platform.python_version(),
    }
    return {name: value for name, value in facts.items() if value} | library_versions() | variables()


def environment_in_words(facts: Mapping[str, str]) -> str:
    """Describe any machine by its `environment`, such as `AMD EPYC, 2 cores`."""
    processor = facts.get("processor") or facts["architecture"]
    return f"{processor}, {counted(len(facts['cores'].split(',')), 'core')}"


def memory_share_in_use() -> float:
    """Return the share in use of this machine's memory, or of the container's limit, whichever is larger."""
    import psutil

    shares = [psutil.virtual_memory().percent / 100]
    limit, used = cgroup.memory_bytes(), cgroup.memory_in_use()
    if limit and used is not None:
        shares.append(used / limit)
    return max(shares)


def _processor() -> tuple[str, frozenset[str]]:
    name, instruction_sets = described(_text("/proc/cpuinfo"), _text("/proc/device-tree/model").strip("\0 "))
    return name or platform.processor(), instruction_sets


def described(cpuinfo: str, board: str) -> tuple[str, frozenset[str]]:
    """Return the processor's name and instruction sets.

    ARM processors often have no name. They are then named by the numbers of their implementer and parts.

    Args:
        cpuinfo: the text of `/proc/cpuinfo`.
        board: the name of a system on a module, which says more than the name of its cores; empty if there is none.
    """
    names = [board, *_first("(?:model name|Model|Hardware)", cpuinfo)]
    if not any(names):
        parts = sorted(set(re.findall(r"^CPU part\s*: (.+)$", cpuinfo, re.MULTILINE)))
        names = [f"implementer {maker}, part {', '.join(parts)}" for maker in _first("CPU implementer", cpuinfo)]
    flags = " ".join(_first("(?:flags|Features)", cpuinfo))
    return ", ".join(dict.fromkeys(filter(None, names))), frozenset(flags.split())


def _first(key: str, cpuinfo: str) -> list[str]:
    """Return the first value of a key, if there is one."""
    found = re.search(rf"^{key}\s*: (.+)$", cpuinfo, re.MULTILINE)
    return [found[1].strip()] if found else []


def _text(path: str) -> str:
    try:
        return Path(path).read_text(errors="replace")
    except OSError:
        return ""


def _cores() -> tuple[int, ...]:
    usable = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else list(range(os.cpu_count() or 1))
    first_of_core: dict[str, int] = {}
    for cpu in usable:
        siblings = Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")
        try:
            key = siblings.read_text()
        except OSError:
            key = str(cpu)
        first_of_core.setdefault(key, cpu)
    return tuple(first_of_core.values())[: cgroup.cpus()]


def _memory_bytes() -> int:
    """Return the memory of this machine, or the limit of the container."""
    import psutil  # slow to import, and not needed for collecting quietly

    total: int = psutil.virtual_memory().total
    return min(total, cgroup.memory_bytes() or total)


def _governor() -> str:
    return _text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor").strip()
