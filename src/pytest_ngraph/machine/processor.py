"""The processor of this machine, as Linux describes it: name, model, microcode, instruction sets."""

from __future__ import annotations

import platform
import re
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

CODE_GENERATION = re.compile(
    r"abm|adx|aes|amx_\w+|apx\w*|avx\w*|bmi\d|cldemote|erms|f16c|fma\d?|fsrm|gfni|lzcnt|mmx|movbe|movdir\w+|pclmulqdq"
    r"|pni|popcnt|sha\w*|sm[34]|sse\w*|ssse3|tbm|vaes|vpclmulqdq|xop|3dnow\w*"
)
"""The flags of an x86 processor that are instructions for computing. Others come and go with the kernel's version."""
X86_KEYS = ("vendor_id", "cpu family", "model", "stepping")
ARM_KEYS = ("CPU implementer", "CPU architecture", "CPU variant", "CPU part", "CPU revision")
"""What the register MIDR_EL1 holds (Arm Architecture Reference Manual, D19.2)."""
RISCV_KEYS = ("uarch", "mvendorid", "marchid", "mimpid")


@dataclass(frozen=True, slots=True, kw_only=True)
class Processor:
    """A processor.

    Attributes:
        name: as its maker calls it, such as `Intel(R) Xeon(R) Processor`. Several generations may share one name.
        model: the numbers by which generations differ, such as `GenuineIntel family 6 model 143 stepping 8`. If cores
            differ, those of each kind. Empty if the system does not report them.
        microcode: its revision; empty if the system does not report it.
        instruction_sets: by Linux's names.
    """

    name: str
    model: str
    microcode: str
    instruction_sets: frozenset[str]


def this_processor() -> Processor:
    """Return the processor of this machine."""
    found = described(text("/proc/cpuinfo"), text("/proc/device-tree/model").strip("\0 "))
    if found.name:
        return found
    name, model = _of_macos() if sys.platform == "darwin" else ("", "")
    return Processor(
        name=name or platform.processor(),
        model=model or found.model,
        microcode=found.microcode,
        instruction_sets=found.instruction_sets,
    )


def described(cpuinfo: str, board: str) -> Processor:
    """Return the processor that these texts describe.

    ARM processors often have no name. They are then named by the numbers of their implementer and parts.

    Args:
        cpuinfo: the text of `/proc/cpuinfo`.
        board: the name of a system on a module, which says more than the name of its cores; empty if there is none.
    """
    names = [board, *_values("(?:model name|Model|Hardware)", cpuinfo)[:1]]
    if not any(names):
        parts = sorted(set(_values("CPU part", cpuinfo)))
        names = [f"implementer {maker}, part {', '.join(parts)}" for maker in _values("CPU implementer", cpuinfo)[:1]]
    flags = " ".join(_values("(?:flags|Features)", cpuinfo)[:1])
    return Processor(
        name=", ".join(dict.fromkeys(filter(None, names))),
        model=", ".join(sorted({_model(core) for core in cpuinfo.split("\n\n")} - {""})),
        microcode=", ".join(sorted(set(_values("microcode", cpuinfo)))),
        instruction_sets=frozenset(flags.split()),
    )


def _of_macos() -> tuple[str, str]:
    """Return the processor's name and the machine's model, such as `Apple M2 Pro` and `Mac14,9`: sysctl(8) has them.

    `platform.processor()` says `arm` on every Mac, so that all would have one fingerprint.
    """
    command = ["/usr/sbin/sysctl", "-n", "machdep.cpu.brand_string", "hw.model"]
    with suppress(OSError, subprocess.SubprocessError):
        lines = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False).stdout.splitlines()
        if len(lines) == 2:
            return lines[0].strip(), lines[1].strip()
    return "", ""


def for_computing(instruction_sets: frozenset[str], architecture: str) -> list[str]:
    """Return the instruction sets that a compiler or library chooses code by, sorted."""
    return list(_for_computing(instruction_sets, architecture))


@cache
def _for_computing(instruction_sets: frozenset[str], architecture: str) -> tuple[str, ...]:
    """Return the same, which every record of a resumed run asks for."""
    x86 = architecture in ("x86_64", "AMD64", "i686")
    return tuple(sorted(name for name in instruction_sets if not x86 or CODE_GENERATION.fullmatch(name)))


def _model(core: str) -> str:
    """Return the numbers of one core's model in words, from its paragraph of `/proc/cpuinfo`."""
    for keys in (X86_KEYS, ARM_KEYS, RISCV_KEYS):
        found = {key: values[0] for key in keys if (values := _values(key, core))}
        if len(found) > 1:
            words = (f"{key.removeprefix('CPU ').removeprefix('cpu ')} {value}" for key, value in found.items())
            return " ".join(words).removeprefix("vendor_id ")
    return ""


def _values(key: str, cpuinfo: str) -> list[str]:
    """Return the values of a key, in the order in which they appear."""
    return [value.strip() for value in re.findall(rf"^{key}[ \t]*: (.+)$", cpuinfo, re.MULTILINE)]


def text(path: str) -> str:
    """Return the text of a file of the system; empty if it cannot be read."""
    try:
        return Path(path).read_text(errors="replace")
    except OSError:
        return ""
