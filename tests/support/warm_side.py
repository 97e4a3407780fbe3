"""The process that `warm.py` forks Pythons from: `python warm_side.py DESCRIPTOR`, without `PYTHONPATH`.

It imports libraries, and nothing of this package: each forked process imports that itself, as a new one does.
`DESCRIPTOR` is a socket. `{"arguments": [...], "environment": {...}, "folder": ...}` comes with standard output and
error, and is answered by `{"pid": ...}`; `{"wait": pid}` by `{"code": ...}` once that process has ended.
"""

from __future__ import annotations

import gc
import json
import os
import runpy
import socket
import sys
import tempfile
import types
from importlib import import_module
from typing import Any

LIBRARIES = ("distributed", "numpy", "cryptography.x509", "packaging.requirements", "psutil", "pytest")
MESSAGE_BYTES = 1 << 20
STREAMS = 2
"""Standard output and error."""


def request(control: socket.socket) -> dict[str, Any] | None:
    """Answer requests. Return that of the process to be, in the process; None at the end."""
    while True:
        message, streams, _, _ = socket.recv_fds(control, MESSAGE_BYTES, STREAMS)
        if not message:
            return None
        given: dict[str, Any] = json.loads(message)
        if "wait" in given:
            answer = {"code": os.waitstatus_to_exitcode(os.waitpid(given["wait"], 0)[1])}
        elif child := os.fork():
            answer = {"pid": child}
        else:
            for number, stream in enumerate(streams, start=1):
                os.dup2(stream, number)
                os.close(stream)
            return given
        for stream in streams:
            os.close(stream)
        control.sendall(json.dumps(answer).encode())


def run(arguments: list[str], environment: dict[str, str], folder: str) -> None:
    """Become a Python that was started with these arguments, `-c CODE ...` or `-m MODULE ...`."""
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    tempfile.tempdir = None
    kind, what, *sys.argv[1:] = arguments
    first = "" if kind == "-c" else folder
    sys.path[:] = [first, *filter(None, environment.get("PYTHONPATH", "").split(os.pathsep)), *sys.path[1:]]
    sys.argv[0] = "-c"
    if kind == "-m":
        runpy.run_module(what, run_name="__main__", alter_sys=True)
        return
    sys.modules["__main__"] = main = types.ModuleType("__main__")
    exec(what, main.__dict__)  # noqa: S102 (as `python -c` does)


if __name__ == "__main__":
    for library in LIBRARIES:
        import_module(library)
    gc.freeze()
    with open(os.devnull) as nothing:  # noqa: PTH123
        os.dup2(nothing.fileno(), 0)
    with socket.socket(fileno=int(sys.argv[1])) as requests:
        to_be = request(requests)
    if to_be:
        run(**to_be)
