"""The limits of a container: its share of the CPUs and of the memory (Linux control groups, versions 1 and 2).

A process's own groups are in `/proc/self/cgroup`, and where they are mounted in `/proc/self/mountinfo`. The limits of
every group that contains them hold as well (cgroups(7)).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from pytest_ngraph.system.files import text_of

SELF = Path("/proc/self")
UNLIMITED = 2**60
"""If memory has no limit, version 1 reports the largest possible number."""
UNIFIED = ""
"""What `/proc/self/cgroup` calls the controllers of version 2."""


class Memory(NamedTuple):
    """The memory of one group, in bytes.

    Attributes:
        limit: its limit.
        in_use: what counts towards the limit and cannot be reclaimed; None if it is not reported. Cached files that
            nobody uses count but can be reclaimed.
    """

    limit: int
    in_use: int | None


def cpus(process: Path = SELF) -> int | None:
    """Return the whole CPUs that the quota allows, at least 1; None if there is no quota.

    Args:
        process: the process's folder in `/proc`.
    """
    quotas = [text_of(group / "cpu.max") for group in _groups(process, UNIFIED)]
    parts = ("cpu.cfs_quota_us", "cpu.cfs_period_us")
    quotas += [" ".join(text_of(group / part) for part in parts) for group in _groups(process, "cpu")]
    found = [cpus for quota in quotas if (cpus := _whole_cpus(quota)) is not None]
    return min(found, default=None)


def memory(process: Path = SELF) -> list[Memory]:
    """Return the memory of every group with a limit, the process's own first."""
    files = [(g, "memory.max", "memory.current", "inactive_file") for g in _groups(process, UNIFIED)]
    files += [
        (g, "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file") for g in _groups(process, "memory")
    ]
    return [
        Memory(limit, _in_use(group / used, group / "memory.stat", idle))
        for group, most, used, idle in files
        if (limit := _number(group / most)) and limit < UNLIMITED
    ]


def memory_bytes(process: Path = SELF) -> int | None:
    """Return the memory limit; None if there is none."""
    return min((each.limit for each in memory(process)), default=None)


def pressure_file(process: Path) -> Path | None:
    """Return the file with the CPU pressure on the tasks of the process's own group; None if the kernel has none."""
    own = next(_groups(process, UNIFIED), None)
    return own / "cpu.pressure" if own and text_of(own / "cpu.pressure") else None


def _whole_cpus(quota: str) -> int | None:
    """Return the CPUs of a quota and its period; None for `max`, for -1, and without a file."""
    try:
        allowed_us, period_us = map(int, quota.split())
    except ValueError:
        return None
    return max(1, allowed_us // period_us) if allowed_us > 0 else None


def _in_use(used: Path, statistics: Path, idle: str) -> int | None:
    total = _number(used)
    if total is None:
        return None
    lines = dict(line.split(maxsplit=1) for line in text_of(statistics).splitlines())
    return total - int(lines.get(idle, 0))


def _groups(process: Path, controller: str) -> Iterator[Path]:
    """Yield the folders of the process's group of this controller, then of each group that contains it."""
    path = _path(process, controller)
    mount = _mount(process, controller)
    if path is None or mount is None:
        return
    root, top = mount
    # Another namespace's path is not below what is mounted, which then is what the container sees of its groups.
    inside = path.removeprefix(root).strip("/") if path == root or path.startswith(root.rstrip("/") + "/") else ""
    own = top / inside
    if ".." in own.parts or not own.is_dir():
        own = top
    yield own
    yield from (folder for folder in own.parents if folder.is_relative_to(top))


def _path(process: Path, controller: str) -> str | None:
    """Return the process's group of a controller, as `/proc/self/cgroup` names it."""
    for line in text_of(process / "cgroup").splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if controller in controllers.split(","):
            return path
    return None


def _mount(process: Path, controller: str) -> tuple[str, Path] | None:
    """Return which group is mounted where, for a controller (`/proc/self/mountinfo`, proc_pid_mountinfo(5))."""
    for line in text_of(process / "mountinfo").splitlines():
        place, _, system = line.partition(" - ")
        columns, (kind, *_, options) = place.split(), system.split() or [""]
        wanted = kind == "cgroup2" if controller == UNIFIED else kind == "cgroup" and controller in options.split(",")
        if wanted and len(columns) > 4:
            return _unescaped(columns[3]), Path(_unescaped(columns[4]))
    return None


def _unescaped(path: str) -> str:
    r"""Return a path of `mountinfo`, in which a space is `\040`."""
    return re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), path)


def _number(path: Path) -> int | None:
    text = text_of(path)
    return int(text) if text.isdigit() else None
