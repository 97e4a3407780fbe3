"""What some work used of the process that did it: time, processor, and how often it was interrupted."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from typing import Any, TypeVar

Result = TypeVar("Result")


def with_usage(work: Callable[[], Result]) -> tuple[Result, dict[str, Any]]:
    """Do some work; return its result, and what the process used for it."""
    before, started = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    result = work()
    wall_s, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_SELF)
    return result, {
        "wall_s": wall_s,
        "cpu_s": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        "involuntary_switches": after.ru_nivcsw - before.ru_nivcsw,
    }
