"""Whether this system and this interpreter can measure at all, and what they do not offer to those who measure."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path

from pytest_ngraph.errors import UsageError

STATUS, PRESSURE, STATISTICS = Path("/proc/self/status"), Path("/proc/pressure/cpu"), Path("/proc/stat")


def cannot_measure() -> str:
    """Return why nothing can be measured here, as the reason of a skip; empty where it can."""
    if not (has_module("fcntl") and has_module("resource") and hasattr(os, "killpg")):
        return (
            f"pytest-ngraph measures on Linux and macOS: this system ({sys.platform}) has no POSIX locks and process "
            "groups. On Windows, run it in WSL 2"
        )
    if not getattr(sys, "_is_gil_enabled", lambda: True)():
        return (
            "pytest-ngraph measures under Python's global lock (GIL), with which models are served, and this "
            "free-threaded Python runs without. Use the regular build, or set PYTHON_GIL=1"
        )
    return ""


def require_measurable() -> None:
    """Raise `UsageError` where nothing can be measured."""
    if reason := cannot_measure():
        raise UsageError(f"{reason}.")


def lacking() -> list[str]:
    """Return what this system does not offer, each as what results then lack: `threads are not bound to cores`."""
    offers = {
        "threads are not bound to cores": hasattr(os, "sched_setaffinity"),
        "CPU pressure is not reported": PRESSURE.exists(),
        "steal is not reported": STATISTICS.exists(),
        "peak memory includes compiling and earlier cases": STATUS.exists() and "VmHWM" in STATUS.read_text(),
    }
    return [lack for lack, offered in offers.items() if not offered]


def has_module(name: str) -> bool:
    """Return whether the interpreter has a module of the standard library."""
    if name in sys.modules:
        return sys.modules[name] is not None
    return find_spec(name) is not None
