"""Launch head and base alone, in fresh processes, for figures of a process that holds one model only."""

from __future__ import annotations

from collections.abc import Callable

from pytest_ngraph.comparison import BASE, HEAD, AloneLaunch
from pytest_ngraph.record import Record

ORDER = (BASE, HEAD, HEAD, BASE, BASE, HEAD)
"""Three of each, in turn, so that drift affects both."""


def launch_alone(launch: Callable[[str], Record]) -> tuple[tuple[AloneLaunch, ...], str]:
    """Launch each arm alone, in `ORDER`, until one fails.

    Args:
        launch: measures one arm (`HEAD` or `BASE`) in its own process.

    Returns:
        The launches made, and the reason for stopping early (empty if all went well).
    """
    done: list[AloneLaunch] = []
    for arm in ORDER:
        record = launch(arm)
        if record.outcome != "measured":
            return tuple(done), f"launching the {arm} alone failed: {record.problem}"
        done.append(
            AloneLaunch(
                arm=arm,
                compile_s=record.total_compile_s,
                cpu_percent=record.cpu_percent,
                worker_memory_bytes=record.worker_memory_bytes,
            )
        )
    return tuple(done), ""
