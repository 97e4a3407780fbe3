"""A worker and the processes that it started: which they are, and whether they hold too much memory together."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import psutil


def family(pid: int) -> set[int]:
    """Return the ids of a process and of all that descend from it, also of orphans that stayed in its session."""
    found = {pid} | {other for other in psutil.pids() if _session(other) == pid}
    waiting = list(found)
    while waiting:
        new = set(_children(waiting.pop())) - found
        found |= new
        waiting += new
    return found


def resident_bytes(pid: int) -> int:
    """Return the memory that a process holds, with what it shares with others; 0 if it is gone."""
    try:
        resident: int = psutil.Process(pid).memory_info().rss
    except psutil.Error:
        return 0
    return resident


def own_bytes(pid: int) -> int:
    """Return the memory that a process holds, and its share of what it shares (PSS); 0 if it is gone.

    The kernel walks all pages of the process for this, so it is not for use while something is timed.
    """
    try:
        return int(psutil.Process(pid).memory_full_info().pss)
    except (psutil.Error, OSError, AttributeError):  # gone, another user's, or no Linux
        return resident_bytes(pid)


def holds_more(pids: Iterable[int], limit_bytes: int) -> bool:
    """Return whether processes hold more than this together.

    Forked children share most of their memory with their parent. Each page counts once, but only if it matters.
    """
    members = list(pids)
    if sum(map(resident_bytes, members)) <= limit_bytes:
        return False
    return len(members) == 1 or sum(map(own_bytes, members)) > limit_bytes


def in_use_bytes() -> int:
    """Return the memory of the machine that is in use, by all processes and, where it shares it, by the GPU."""
    memory = psutil.virtual_memory()
    return int(memory.total - memory.available)


def _session(pid: int) -> int:
    try:
        return os.getsid(pid)
    except OSError:
        return 0


def _children(pid: int) -> list[int]:
    """Return the children of a process: from the kernel's list of them where it has one, without looking at others."""
    try:
        lists = [(task / "children").read_text() for task in Path(f"/proc/{pid}/task").iterdir()]
        return [int(child) for text in lists for child in text.split()]
    except OSError:
        pass
    try:
        return [child.pid for child in psutil.Process(pid).children()]
    except psutil.Error:
        return []
