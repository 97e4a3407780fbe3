"""NVIDIA GPUs, as reported by their driver."""

from __future__ import annotations

import ctypes
import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pytest_ngraph.system.files import text_of

VERSION = Path("/proc/driver/nvidia/version")
LISTED = Path("/proc/driver/nvidia/gpus")


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """A GPU.

    Attributes:
        name: its product name.
        capability: its CUDA compute capability, major and minor.
        memory_bytes: its memory.
        unified: it has no memory of its own and uses the machine's, as on a Jetson.
        bus: its PCI address, such as `0000:41:00.0`, by which other libraries find it; empty if it is not known.
    """

    name: str
    capability: tuple[int, int]
    memory_bytes: int
    unified: bool = False
    bus: str = ""


def driver_version() -> str:
    """Return the version of NVIDIA's kernel driver; empty if there is none."""
    text = ""
    with suppress(OSError):
        text = VERSION.read_text(errors="replace")
    version = re.search(r"\b\d+\.\d+(?:\.\d+)?\b", text)
    return version[0] if version else ""


def listed() -> list[str]:
    """Return the names of this machine's GPUs, as the kernel's driver lists them. This does not start CUDA."""
    texts = (text_of(file) for file in sorted(LISTED.glob("*/information")))
    return [name[1] for name in (re.search(r"^Model:\s*(.+?)\s*$", text, re.MULTILINE) for text in texts) if name]


def found() -> tuple[Gpu, ...]:
    """Return this machine's GPUs. Asks the CUDA driver, which takes milliseconds; a framework takes seconds."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return ()
    count = ctypes.c_int()
    if driver.cuInit(0) != 0 or driver.cuDeviceGetCount(ctypes.byref(count)) != 0:
        return ()
    return tuple(_gpu(driver, index) for index in range(count.value))


def _gpu(driver: ctypes.CDLL, index: int) -> Gpu:
    name, bus = ctypes.create_string_buffer(256), ctypes.create_string_buffer(32)
    memory, major, minor, integrated = ctypes.c_size_t(), ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
    driver.cuDeviceGetName(name, 256, index)
    driver.cuDeviceTotalMem_v2(ctypes.byref(memory), index)
    driver.cuDeviceGetPCIBusId(bus, 32, index)
    # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, _MINOR and CU_DEVICE_ATTRIBUTE_INTEGRATED.
    driver.cuDeviceGetAttribute(ctypes.byref(major), 75, index)
    driver.cuDeviceGetAttribute(ctypes.byref(minor), 76, index)
    driver.cuDeviceGetAttribute(ctypes.byref(integrated), 18, index)
    return Gpu(
        name=name.value.decode(),
        capability=(major.value, minor.value),
        memory_bytes=memory.value,
        unified=bool(integrated.value),
        bus=bus.value.decode(),
    )
