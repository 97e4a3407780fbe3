"""Work around the known faults of TVM's wheels.

apache-tvm-ffi 0.1.15 crashes the process in MetaSchedule's `TuneContext`. The extra pins 0.1.14, and tuning refuses
0.1.15.

`tvm.s_tir.tensor_intrin` calls `inspect.stack()` some 500 times when it is imported, and each call reads the source
lines of every frame. That takes 18 s in each process that builds tuning candidates, so that they time out. Without the
source lines it takes 1 s.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from typing import Any

from pytest_ngraph.errors import Unsupported

CRASHES_WHEN_TUNING = "0.1.15"


def check_tunable() -> None:
    """Raise `Unsupported` where MetaSchedule would crash the process."""
    if version("apache-tvm-ffi").startswith(CRASHES_WHEN_TUNING):
        raise Unsupported(
            f"apache-tvm-ffi {version('apache-tvm-ffi')} crashes when TVM tunes: "
            'pip install "apache-tvm-ffi==0.1.14.post1", or measure without tvm:trials'
        )


def import_tensor_intrinsics() -> None:
    """Import `tvm.s_tir.tensor_intrin` in 1 s instead of 18. A builder process calls this first."""
    with stack_without_source():
        import tvm.s_tir.tensor_intrin  # noqa: F401


@contextmanager
def stack_without_source() -> Iterator[None]:
    """Make `inspect.stack` leave out source lines inside this context."""
    original = inspect.stack
    inspect.stack = _frames
    try:
        yield
    finally:
        inspect.stack = original


def _frames(context: int = 1) -> list[inspect.FrameInfo]:
    """Return the calling frames like `inspect.stack`, without their source lines."""
    frames: list[inspect.FrameInfo] = []
    frame: Any = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        frames.append(inspect.FrameInfo(frame, code.co_filename, frame.f_lineno, code.co_name, None, None))
        frame = frame.f_back
    return frames
