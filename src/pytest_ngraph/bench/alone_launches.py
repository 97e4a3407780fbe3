"""Head and base alone, each in fresh processes: what compiling takes, and what a process needs that holds one model."""

from __future__ import annotations

from collections.abc import Callable

from pytest_ngraph.comparison import BASE, HEAD, AloneLaunch
from pytest_ngraph.record import Record

ORDER = (BASE, HEAD, HEAD, BASE, BASE, HEAD)
"""Three of each, in turn: what drifts meanwhile hits both."""


def launch_alone(launch: Callable[[str], Record]) -> tuple[tuple[AloneLaunch, ...], str]:
    """The launches, and why they broke off; empty when all went well. launch: gives the record of one arm, the head's
    or the base's, in a process of its own."""
    done: list[AloneLaunch] = []
    for arm in ORDER:
        record = launch(arm)
        if record.outcome != "measured":
            told = record.failure.message if record.failure else record.skip_reason
            return tuple(done), f"launching the {arm} alone failed: {told}"
        done.append(
            AloneLaunch(
                arm=arm,
                compile_s=record.compile_s,
                cpu_percent=record.cpu_percent,
                peak_memory_bytes=record.peak_memory_bytes,
            )
        )
    return tuple(done), ""
