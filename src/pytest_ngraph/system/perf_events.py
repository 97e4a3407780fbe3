"""Count what the processor does while some work runs, through Linux's `perf_event_open` (man 2 perf_event_open).

All threads of this process count, also those that begin while it counts, in user space only. What the kernel refuses
is a fact with its reason: in most containers and virtual machines there are no hardware counters.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol, TypeVar

from pytest_ngraph.system.affinity import threads_of_this_process

Result = TypeVar("Result")

SYSCALLS = {"x86_64": 298, "aarch64": 241}
HARDWARE, SOFTWARE = 0, 1
EVENTS = {
    "cycles": (HARDWARE, 0),
    "instructions": (HARDWARE, 1),
    "cache_references": (HARDWARE, 2),
    "cache_misses": (HARDWARE, 3),
    "task_clock_ns": (SOFTWARE, 1),
}
"""Type and number of each event, as in `linux/perf_event.h`. The task clock is the nanoseconds on a core."""
INHERIT, WITHOUT_KERNEL, WITHOUT_HYPERVISOR = 1 << 1, 1 << 5, 1 << 6
TIMES = 1 | 2
"""Each value is read with the time for which its counter was wanted, and the time for which it ran."""
CLOSED_ON_EXEC = 8
SIZE = 64
"""Bytes of the first version of `perf_event_attr`, which every kernel takes."""
LEVEL = Path("/proc/sys/kernel/perf_event_paranoid")


class Reading(NamedTuple):
    """A counter's value, and the nanoseconds for which it was wanted and for which it ran."""

    value: int
    wanted_ns: int
    ran_ns: int


class Counted(NamedTuple):
    """Events of some work.

    Attributes:
        events: how many of each, by the names of `EVENTS`. Where counters took turns, scaled to the whole time.
        refused: why the kernel does not count some of them; empty where it counts all.
    """

    events: dict[str, float]
    refused: str


class Kernel(Protocol):
    """What is asked of the kernel. Each raises `OSError`."""

    def open(self, event: tuple[int, int], thread: int) -> int: ...

    def read(self, descriptor: int) -> Reading: ...

    def close(self, descriptor: int) -> None: ...


class Linux:
    """The kernel of this machine."""

    def open(self, event: tuple[int, int], thread: int) -> int:
        """Begin to count an event of a thread. Return a file descriptor."""
        number = SYSCALLS.get(platform.machine()) if sys.platform == "linux" else None
        if number is None:
            raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
        kind, config = event
        flags = INHERIT | WITHOUT_KERNEL | WITHOUT_HYPERVISOR
        attributes = struct.pack("=IIQQQQQIIQ", kind, SIZE, config, 0, 0, TIMES, flags, 0, 0, 0)
        call = ctypes.CDLL(None, use_errno=True).syscall
        descriptor = call(
            ctypes.c_long(number),
            ctypes.c_char_p(attributes),
            ctypes.c_int(thread),
            ctypes.c_int(-1),
            ctypes.c_int(-1),
            ctypes.c_ulong(CLOSED_ON_EXEC),
        )
        if descriptor < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        return int(descriptor)

    def read(self, descriptor: int) -> Reading:
        """Return what was counted so far."""
        return Reading(*struct.unpack("=QQQ", os.read(descriptor, 24)))

    def close(self, descriptor: int) -> None:
        """Count no more."""
        os.close(descriptor)


def counting(
    work: Callable[[], Result],
    kernel: Kernel | None = None,
    threads: Callable[[], Sequence[int]] = lambda: threads_of_this_process() or [0],
) -> tuple[Result, Counted]:
    """Do some work, and return its result with what the processor did."""
    asked = kernel or Linux()
    opened: dict[str, list[int]] = {}
    refused: dict[str, str] = {}
    try:
        for name, event in EVENTS.items():
            opened[name] = []
            try:
                for thread in threads():
                    _open(asked, event, thread, opened[name])
            except OSError as error:
                refused.setdefault(_why(error), name)
                _close(asked, opened.pop(name))
        before = {name: [asked.read(each) for each in own] for name, own in opened.items()}
        result = work()
        after = {name: [asked.read(each) for each in own] for name, own in opened.items()}
    finally:
        for own in opened.values():
            _close(asked, own)
    found = {name: _events(before[name], after[name]) for name in before}
    return result, Counted({name: value for name, value in found.items() if value is not None}, "; ".join(refused))


def _open(kernel: Kernel, event: tuple[int, int], thread: int, opened: list[int]) -> None:
    try:
        opened.append(kernel.open(event, thread))
    except OSError as error:
        if error.errno != errno.ESRCH:  # it has ended since
            raise


def _close(kernel: Kernel, descriptors: Sequence[int]) -> None:
    for each in descriptors:
        kernel.close(each)


def _events(before: Sequence[Reading], after: Sequence[Reading]) -> float | None:
    """Return the events of all threads; None where a counter never ran while it was wanted."""
    total = 0.0
    for first, last in zip(before, after, strict=True):
        wanted, ran = last.wanted_ns - first.wanted_ns, last.ran_ns - first.ran_ns
        if wanted and not ran:
            return None
        total += (last.value - first.value) * (wanted / ran if ran else 1.0)
    return total


def _why(error: OSError) -> str:
    if error.errno in (errno.EACCES, errno.EPERM):
        level = LEVEL.read_text().strip() if LEVEL.exists() else "unknown"
        return f"the kernel refuses perf_event_open ({error.strerror}; kernel.perf_event_paranoid is {level})"
    if error.errno in (errno.ENOENT, errno.EOPNOTSUPP, errno.ENODEV):
        return f"this machine has no hardware counters, or its hypervisor hides them ({error.strerror})"
    return f"perf_event_open: {error.strerror}"
