"""Memory of a worker: the peaks that its models need, and what happens to memory that they free."""

from __future__ import annotations

import ctypes
import gc
import os
import re
import resource
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

from pytest_ngraph.artifact import Kind
from pytest_ngraph.compilers import kinds
from pytest_ngraph.machine import gpus, nvml

MADV_DONTNEED = 4
MAPPING = re.compile(
    r"^(?P<begin>[0-9a-f]+)-(?P<end>[0-9a-f]+) (?P<flags>\S{4}) \S+ \S+ (?P<inode>\d+) *(?P<path>.*)\n"
    r"(?:[A-Z].*\n)*?Rss: +(?P<resident>\d+) kB\n"
    r"(?:[A-Z].*\n)*?Anonymous: +(?P<changed>\d+) kB\n(?:[A-Z].*\n)*?Swap: +(?P<swapped>\d+) kB",
    re.MULTILINE,
)
"""A mapping in `/proc/self/smaps`. Changed pages that are swapped out do not count as `Anonymous`."""
RANGE = re.compile("^(?P<begin>[0-9a-f]+)-(?P<end>[0-9a-f]+) ", re.MULTILINE)
"""The addresses of a mapping in `/proc/self/maps`."""
M_TRIM_THRESHOLD = -1
M_MMAP_MAX = -4
ALLOCATOR_VARIABLES = ("GLIBC_TUNABLES", "MALLOC_")
"""Prefixes of the variables by which users set glibc's allocator."""
KEEPING = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(2**62)}
"""Variables with which a process keeps what it frees, from its start on."""


class Footprint:
    """The peak memory of this process, and of the GPU. For a CPU, the GPU is not asked.

    The peak of this process is that of loading a model and running it. What the process held before, beyond the
    libraries that it imported, does not count: earlier cases and compiling leave memory behind, and a model that was
    compiled now has to show the same peak as one from the cache.
    """

    def __init__(self) -> None:
        self._libraries: int | None = None
        self._left = 0
        self._gpu_before = 0
        self._gpu_peak = 0

    def note_libraries(self) -> None:
        """Note what this process holds once its libraries are imported; only the first call counts."""
        if self._libraries is None:
            trim()
            self._libraries = _own()

    def begin_loading(self, kind: Kind) -> None:
        """Reset the peaks: a model is loaded next."""
        gc.collect()
        kinds.named(kind).give_back()
        self._gpu_before, self._gpu_peak = _held_on(kind), 0
        _drop_code()
        _reset_peak()
        self._left = max(0, _own() - (self._libraries or 0))

    def look(self, kind: Kind) -> None:
        """Note what this process holds of the GPU's memory, its allocators' reserves included."""
        if kind != "cpu":
            self._gpu_peak = max(self._gpu_peak, _held_on(kind) - self._gpu_before)

    def on_device(self, kind: Kind) -> tuple[float, float] | None:
        """Return the shares of the GPU's memory that all processes hold and that this model added; None on a CPU."""
        if (memory := kinds.named(kind).memory()) is None:
            return None
        free, total = memory
        return (total - free) / total, self._gpu_peak / total

    def peaks(self, kind: Kind) -> dict[str, int | None]:
        """Return the peaks in bytes, by their names in a record."""
        gpu = self._gpu_peak if kinds.named(kind).memory() else None
        return {"worker_memory_bytes": _peak() - self._left, "device_memory_bytes": gpu}


def give_back() -> None:
    """Give memory that this process has freed, its own and the GPU's, back for other processes to use."""
    for name in kinds.names():
        kinds.named(name).give_back()
    trim()


def _reset_peak() -> None:
    trim()
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def _drop_code() -> None:
    """Drop what this process has read of libraries: compiling has read code that running does not need.

    What it still needs is mapped again when it is used. Pages that the process has changed are left alone.
    """
    with suppress(AttributeError, OSError):  # another system
        advise = ctypes.CDLL(None).madvise
        for begin, end in _unchanged(Path("/proc/self/smaps").read_text(), Path("/proc/self/maps").read_text()):
            advise(ctypes.c_void_p(begin), ctypes.c_size_t(end - begin), MADV_DONTNEED)


def _unchanged(smaps: str, maps: str) -> Iterator[tuple[int, int]]:
    """Yield begin and end of each mapping of a file that cannot be written to and of which no page was changed.

    An emulator of another processor may pass on the kernel's `smaps`, whose addresses are not those of this process,
    as QEMU did until version 8.1, or make one up, in which nothing is resident and nothing was changed. To drop pages
    by these destroys data: the process ended with "stack smashing detected".

    Args:
        smaps: the text of `/proc/self/smaps`.
        maps: the text of `/proc/self/maps`, which emulators have the right addresses in.
    """
    known = set(RANGE.findall(maps))
    for mapping in MAPPING.finditer(smaps):
        is_file = mapping["inode"] != "0" and not mapping["path"].startswith("/dev/")
        is_private = "w" not in mapping["flags"] and mapping["flags"].endswith("p")
        is_whole = mapping["resident"] != "0" and mapping["changed"] == mapping["swapped"] == "0"
        if is_file and is_private and is_whole and (mapping["begin"], mapping["end"]) in known:
            yield int(mapping["begin"], 16), int(mapping["end"], 16)


def _own() -> int:
    """Return the memory that this process holds, without what it has mapped of files; 0 where it is not reported."""
    return _status("RssAnon") or 0


def _status(name: str) -> int | None:
    try:
        return int(Path("/proc/self/status").read_text().split(f"{name}:")[1].split()[0]) * 1024
    except (OSError, IndexError):  # another system, or a kernel that does not report it
        return None


def _peak() -> int:
    peak = _status("VmHWM")
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit if peak is None else peak


def _held_on(kind: Kind) -> int:
    """Return what this process holds of the device's memory; 0 where it has none.

    Where the driver does not report it by process, this is what all processes hold: then no other may allocate.
    """
    memory = kinds.named(kind).memory()
    own = _gpu().held_by(os.getpid()) if kind == "cuda" else None
    return own or (memory[1] - memory[0] if memory else 0)


@cache
def _gpu() -> nvml.Device:
    """Return the GPU that this process sees."""
    seen = gpus.found()
    return nvml.Device(seen[0].bus if seen else "")


def keep_freed_memory() -> None:
    """Make this process keep the memory that it frees for its next calls, from now on.

    glibc either returns large blocks to the kernel as they are freed or keeps them, depending on what its heap looked
    like when the model was loaded. PyTorch frees its activations in every call. If they are returned, the kernel hands
    out and clears each page again in the next call: the same case took up to 2.5 times as long in one process as in
    another, each steady within 1 %. Does nothing if the environment sets the allocator, or if it is not glibc's.
    """
    if any(name.startswith(ALLOCATOR_VARIABLES) for name in os.environ):
        return
    with suppress(AttributeError, OSError):  # another system's allocator
        libc = ctypes.CDLL(None)
        libc.mallopt(M_TRIM_THRESHOLD, -1)
        libc.mallopt(M_MMAP_MAX, 0)


def trim() -> None:
    """Return free memory to the kernel, so that memory used for compiling is available while other models run."""
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)
