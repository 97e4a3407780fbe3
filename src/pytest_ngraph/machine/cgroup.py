"""What Linux lets a container have: its share of the CPUs and of the memory (control groups, version 1 and 2)."""

from __future__ import annotations

from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
UNLIMITED = 2**60
"""Version 1 writes the largest number there is where memory has no limit."""


def cpus(root: Path = ROOT) -> int | None:
    """Whole CPUs that the quota allows; None for no quota."""
    text = _text(root / "cpu.max") or " ".join(
        _text(root / "cpu" / f"cpu.cfs_{name}_us") for name in ("quota", "period")
    )
    try:
        quota, period = map(int, text.split())
    except ValueError:  # `max`, or no such file
        return None
    return max(1, quota // period) if quota > 0 else None


def memory_bytes(root: Path = ROOT) -> int | None:
    """The limit of memory; None for none."""
    limit = _number(root / "memory.max") or _number(root / "memory" / "memory.limit_in_bytes")
    return limit if limit and limit < UNLIMITED else None


def memory_in_use(root: Path = ROOT) -> int | None:
    """Bytes that count towards the limit and cannot be had back: not the files that are cached and idle. None where
    that is not told."""
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
