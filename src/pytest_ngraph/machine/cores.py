"""The cores to compute and to compile on.

To compute: one logical CPU of each physical core, and idle ones where a quota allows only some.
"""

from __future__ import annotations

import os
import random
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from pytest_ngraph.machine import cgroup
from pytest_ngraph.system.files import text_of
from pytest_ngraph.system.support import STATISTICS

TOPOLOGY = Path("/sys/devices/system/cpu")
LOOK_S = 0.3
"""How long the cores are watched before some are chosen: long enough to see a process that pauses between rounds."""
IDLE_SHARE = 0.8
"""A core counts as idle if all its logical CPUs idle for more than this share of a look."""

_DRAW = random.SystemRandom().choice
"""Not Python's own generator, which a project may seed alike in every container."""
IdleSeconds = Callable[[], Mapping[int, float]]


class Core(NamedTuple):
    """A physical core.

    Attributes:
        cpu: the logical CPU of it that this process uses.
        siblings: all its logical CPUs, also those that this process may not use.
        package: the processor that it is part of, where a machine has several.
    """

    cpu: int
    siblings: tuple[int, ...]
    package: str = ""


def idle_seconds(statistics: Path = STATISTICS) -> dict[int, float]:
    """Return how long each logical CPU that is online has been idle since the machine started, by its number.

    On Linux they are read by name, because psutil lists them without their numbers: some may be offline.
    """
    if found := re.findall(r"^cpu(\d+) +\d+ +\d+ +\d+ +(\d+)", text_of(statistics), re.MULTILINE):
        ticks = os.sysconf("SC_CLK_TCK")
        return {int(cpu): int(idle) / ticks for cpu, idle in found}
    import psutil  # slow to import, and not needed for collecting quietly

    return {cpu: times.idle for cpu, times in enumerate(psutil.cpu_times(percpu=True))}


def usable() -> Iterable[int]:
    """Return the logical CPUs that this process may use."""
    return os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)


def allowed(topology: Path = TOPOLOGY) -> list[Core]:
    """Return the physical cores that this process may use."""
    found: dict[tuple[int, ...], Core] = {}
    for cpu in sorted(usable()):
        about = topology / f"cpu{cpu}" / "topology"
        siblings = _numbers(text_of(about / "thread_siblings_list")) or (cpu,)
        found.setdefault(siblings, Core(cpu, siblings, text_of(about / "physical_package_id")))
    return list(found.values())


def capacities(cores: Iterable[int], topology: Path = TOPOLOGY) -> str:
    """Return how strong the cores are where they differ, as on ARM's big.LITTLE: `4 of 446, 4 of 1024`; else empty.

    Linux gives the strongest core of a machine 1024. One thread on each core then waits for the weakest.
    """
    counts = Counter(text_of(topology / f"cpu{cpu}" / "cpu_capacity") for cpu in cores)
    if len(counts) < 2 or "" in counts:
        return ""
    return ", ".join(f"{counts[each]} of {each}" for each in sorted(counts, key=int))


def to_compile_on(computing: Sequence[int]) -> tuple[int, ...]:
    """Return the logical CPUs that compiling may use: all that this process may use, all threads of a core included.

    Under a CPU quota it is those that compute: more would be slowed down together.
    """
    if cgroup.cpus() is not None:
        return tuple(computing)
    return tuple(sorted(usable()))


def idle_shares(
    idle: IdleSeconds = idle_seconds,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> dict[int, float]:
    """Watch the logical CPUs for `LOOK_S`, and return the share of that time for which each idled."""
    before, started = idle(), clock()
    sleep(LOOK_S)
    after, elapsed_s = idle(), clock() - started
    return {cpu: (after[cpu] - before[cpu]) / elapsed_s for cpu in before if cpu in after}


def chosen(
    cores: Sequence[Core],
    count: int,
    idle: Mapping[int, float],
    draw: Callable[[Sequence[Sequence[int]]], Sequence[int]] = _DRAW,
) -> tuple[int, ...]:
    """Return the logical CPUs of `count` cores: idle neighbours of one processor if there are any, else the idlest.

    Of several such neighbours some are drawn: two containers that begin at the same time see the same idle cores.

    Args:
        idle: the share of time for which each logical CPU idled; one that is not listed counts as idle.
        draw: chooses one of several groups of neighbours.
    """
    shares = {core.cpu: min(idle.get(cpu, 1.0) for cpu in core.siblings) for core in cores}
    packages: dict[str, list[int]] = {}
    for core in cores:
        if shares[core.cpu] > IDLE_SHARE:
            packages.setdefault(core.package, []).append(core.cpu)
    neighbours = [
        free[first : first + count] for free in packages.values() for first in range(0, len(free) - count + 1, count)
    ]
    if neighbours:
        return tuple(draw(neighbours))
    return tuple(sorted(sorted(shares, key=lambda cpu: -shares[cpu])[:count]))


def in_words(cpus: Iterable[int]) -> str:
    """Return logical CPUs with neighbours as one: `0, 2, 16 to 19`."""
    found: list[list[int]] = []
    for cpu in sorted(cpus):
        if found and cpu == found[-1][-1] + 1:
            found[-1].append(cpu)
        else:
            found.append([cpu])
    return ", ".join(f"{each[0]} to {each[-1]}" if len(each) > 1 else str(each[0]) for each in found)


def _numbers(text: str) -> tuple[int, ...]:
    """Return the numbers of a list such as `0,64` or `0-1`."""
    found: list[int] = []
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        found.extend(range(int(first), int(last or first) + 1))
    return tuple(found)
