"""The known faults of TVM's wheels, and what keeps them away. Import the library through here.

apache-tvm-ffi 0.1.15 crashes the process in MetaSchedule's `TuneContext`: the extra pins 0.1.14, and tuning refuses.

`tvm.s_tir.tensor_intrin` calls `inspect.stack()` some 500 times, and each call reads the source lines of every frame:
18 s in each of the processes that build tuning candidates, which time out. Without the lines it takes one.
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
    """Import `tvm.s_tir.tensor_intrin` in a second. A builder process runs this first."""
    with stack_without_source():
        import tvm.s_tir.tensor_intrin  # noqa: F401


@contextmanager
def stack_without_source() -> Iterator[None]:
    original = inspect.stack
    inspect.stack = _frames
    try:
        yield
    finally:
        inspect.stack = original


def _frames(context: int = 1) -> list[inspect.FrameInfo]:
    """The calling frames as `inspect.stack` gives them, without their source lines."""
    frames: list[inspect.FrameInfo] = []
    frame: Any = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        frames.append(inspect.FrameInfo(frame, code.co_filename, frame.f_lineno, code.co_name, None, None))
        frame = frame.f_back
    return frames
