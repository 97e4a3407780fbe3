"""Run pytest in an interpreter that lacks what another system lacks: `python other_system.py SYSTEM ARGUMENTS...`.

What the standard library and pytest themselves need is imported first, because they choose their own code by the
system. What pytest-ngraph then asks for is gone: modules, functions, signals, and the files below `/proc` and `/sys`.
"""

from __future__ import annotations

import os
import pathlib
import platform
import signal
import socket
import sys
import sysconfig
import time
from importlib import import_module
from pathlib import PurePath
from typing import Any

MODULES = {"win32": ("fcntl", "resource", "pwd", "grp", "termios"), "darwin": (), "free-threaded": ()}
"""Standard modules that the system lacks."""
NAMES: dict[str, dict[Any, tuple[str, ...]]] = {
    "win32": {
        os: (
            *("sched_getaffinity", "sched_setaffinity", "sysconf", "setsid", "killpg", "fork", "getuid", "geteuid"),
            *("pread", "fchmod", "getpgid", "waitstatus_to_exitcode", "O_CLOEXEC", "O_NOFOLLOW", "O_NONBLOCK"),
        ),
        signal: ("SIGKILL", "SIGHUP", "SIGALRM", "setitimer"),
        socket: ("AF_UNIX", "socketpair", "SOCK_SEQPACKET"),
        time: ("CLOCK_BOOTTIME", "CLOCK_MONOTONIC", "clock_gettime"),
    },
    "darwin": {
        os: ("sched_getaffinity", "sched_setaffinity"),
        socket: ("SOCK_SEQPACKET",),
        time: ("CLOCK_BOOTTIME",),
    },
    "free-threaded": {},
}
FIRST = (
    "asyncio",
    "ctypes.util",
    "numpy",
    "psutil",
    "pytest",
    "pytest_benchmark.plugin",
    "pathlib",
    "platform",
    "uuid",
)
"""Imported before anything is taken away."""
LINUX = ("/proc", "/sys")


def become(system: str) -> None:
    """Take away what the system lacks, from now on, and call it by that name."""
    for name in FIRST:
        import_module(name)
    sysconfig.get_config_vars()
    platform.uname()
    for name in MODULES[system]:
        sys.modules[name] = None  # type: ignore[assignment]
    if system == "free-threaded":
        sys._is_gil_enabled = lambda: False  # type: ignore[attr-defined, unused-ignore]
        return
    for module, names in NAMES[system].items():
        for name in names:
            if hasattr(module, name):
                delattr(module, name)
    sys.addaudithook(_no_such_file)
    stat = os.stat

    def without_linux(path: Any, *arguments: Any, **options: Any) -> os.stat_result:
        _no_such_file("open", (path,))
        return stat(path, *arguments, **options)

    os.stat = without_linux
    if hasattr(pathlib, "_NormalAccessor"):  # of Python 3.10, which keeps the function
        pathlib._NormalAccessor.stat = staticmethod(without_linux)
    sys.platform = system


def _no_such_file(event: str, arguments: tuple[Any, ...]) -> None:
    if event not in ("open", "os.listdir", "os.scandir") or not isinstance(arguments[0], str | os.PathLike):
        return
    path = os.fspath(arguments[0])
    if isinstance(path, str) and path.startswith(LINUX) and PurePath(path).parts[1] in ("proc", "sys"):
        if _is_for_psutil():  # which asks each system in its own way
            return
        raise FileNotFoundError(2, "No such file or directory", path)


def _is_for_psutil() -> bool:
    frame = sys._getframe(2)
    while frame is not None and not str(frame.f_globals.get("__name__")).startswith("psutil"):
        frame = frame.f_back  # type: ignore[assignment]
    return frame is not None


if __name__ == "__main__":
    become(sys.argv[1])
    import pytest

    raise SystemExit(pytest.main(sys.argv[2:]))
