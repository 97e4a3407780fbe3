"""The limits of a container: its share of the CPUs and of the memory (Linux control groups, versions 1 and 2)."""

from __future__ import annotations

from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
UNLIMITED = 2**60
"""If memory has no limit, version 1 reports the largest possible number."""


def cpus(root: Path = ROOT) -> int | None:
    """Return the whole CPUs that the quota allows, at least 1; None if there is no quota."""
    text = _text(root / "cpu.max") or " ".join(
        _text(root / "cpu" / f"cpu.cfs_{name}_us") for name in ("quota", "period")
    )
    try:
        quota, period = map(int, text.split())
    except ValueError:  # `max`, or no such file
        return None
    return max(1, quota // period) if quota > 0 else None


def memory_bytes(root: Path = ROOT) -> int | None:
    """Return the memory limit; None if there is none."""
    limit = _number(root / "memory.max") or _number(root / "memory" / "memory.limit_in_bytes")
    return limit if limit and limit < UNLIMITED else None


def memory_in_use(root: Path = ROOT) -> int | None:
    """Return the bytes that count towards the limit and cannot be reclaimed; None if they are not reported.

    Cached files that nobody uses count towards the limit but can be reclaimed.
    """
    for used, statistics, idle in (
        (root / "memory.current", root / "memory.stat", "inactive_file"),
        (root / "memory" / "memory.usage_in_bytes", root / "memory" / "memory.stat", "total_inactive_file"),
    ):
        total = _number(used)
        if total is not None:
            lines = dict(line.split(maxsplit=1) for line in _text(statistics).splitlines())
            return total - int(lines.get(idle, 0))
    return None


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def _number(path: Path) -> int | None:
    text = _text(path)
    return int(text) if text.isdigit() else None
