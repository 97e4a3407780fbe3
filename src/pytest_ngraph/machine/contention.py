"""What else the machine does while we measure, from the kernel's counters."""

from __future__ import annotations

import re
import time
from functools import cache
from pathlib import Path
from typing import NamedTuple

from pytest_ngraph.machine import cgroup
from pytest_ngraph.record import Contention


class Counters(NamedTuple):
    """Counters that only grow; None if the kernel does not have them.

    Attributes:
        pressure_us: microseconds in which some task of our control group waited for a CPU, also because the group's
            quota was used up; of the whole machine, if the kernel does not report it by group.
        steal_ticks: clock ticks that the hypervisor took, summed over the CPUs.
        all_ticks: all clock ticks, summed over the CPUs.
    """

    pressure_us: int | None
    steal_ticks: int | None
    all_ticks: int | None


def read(proc: Path = Path("/proc")) -> Counters:
    """Return the counters now."""
    return Counters(_pressure_us(_pressure_file(proc)), *_ticks(proc / "stat"))


def throttles(cpus: Path = Path("/sys/devices/system/cpu")) -> int | None:
    """Return how often a core or processor has been slowed down so far because it was hot, summed over the CPUs.

    Reads two files per CPU, so it is not for use between rounds. None if the kernel does not report it.
    """
    try:
        counts = [int(path.read_text()) for path in cpus.glob("cpu*/thermal_throttle/*_throttle_count")]
    except (OSError, ValueError):
        return None
    return sum(counts) if counts else None


def asleep_s() -> float | None:
    """Return the seconds that the machine has been suspended so far; None if the kernel does not report them.

    The clocks used for measuring and for time limits stand still during suspend (clock_gettime(2): CLOCK_BOOTTIME).
    """
    clock = getattr(time, "CLOCK_BOOTTIME", None)
    return None if clock is None else time.clock_gettime(clock) - time.clock_gettime(time.CLOCK_MONOTONIC)


def between(start: Counters, end: Counters, *, elapsed_s: float, involuntary_switches: int | None = None) -> Contention:
    """Return what happened from `start` to `end`, `elapsed_s` seconds later, without throttles and sleep."""
    pressure = steal = None
    if start.pressure_us is not None and end.pressure_us is not None and elapsed_s > 0:
        pressure = min(100.0, (end.pressure_us - start.pressure_us) / (elapsed_s * 1e6) * 100)
    if start.steal_ticks is not None and end.steal_ticks is not None:
        assert start.all_ticks is not None
        assert end.all_ticks is not None
        steal = (end.steal_ticks - start.steal_ticks) / max(1, end.all_ticks - start.all_ticks) * 100
    return Contention(pressure_percent=pressure, steal_percent=steal, involuntary_switches=involuntary_switches)


@cache
def _pressure_file(proc: Path) -> Path:
    """Return where the pressure is read, found once: it is read between rounds."""
    return cgroup.pressure_file(proc / "self") or proc / "pressure" / "cpu"


def _pressure_us(path: Path) -> int | None:
    try:
        match = re.search(r"^some .*total=(\d+)", path.read_text(), re.MULTILINE)
    except OSError:
        return None
    return int(match[1]) if match else None


def _ticks(path: Path) -> tuple[int | None, int | None]:
    try:
        first = path.read_text().split("\n", 1)[0].split()
    except OSError:
        return None, None
    # cpu user nice system idle iowait irq softirq steal guest guest_nice; user already includes guests.
    values = [int(value) for value in first[1:9]]
    return (values[7], sum(values)) if len(values) == 8 else (None, None)
