"""Processes that outlive the worker that started them, found by a mark in their environment."""

from __future__ import annotations

import psutil

MARK = "PYTEST_NGRAPH_WORKER"
"""Environment variable of a worker and of everything it starts; it names the bench's folder and the worker."""
PASSES = 5
"""How often to look: a process may start another just before it is killed."""


def end_leftovers(mark: str) -> None:
    """Kill every process whose mark begins with this one."""
    for _ in range(PASSES):
        found = [process for process in psutil.process_iter() if _is_marked(process, mark)]
        for process in found:
            _kill(process)
        psutil.wait_procs(found, timeout=1)
        if not found:
            return


def _is_marked(process: psutil.Process, mark: str) -> bool:
    try:
        return process.environ().get(MARK, "").startswith(mark)
    except (psutil.Error, OSError):  # it has ended, or is another user's
        return False


def _kill(process: psutil.Process) -> None:
    try:
        process.kill()
    except psutil.Error:
        return
