"""What is set around frameworks while they are imported and used."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """Collect no unreachable cycles in this block, which makes hundreds of thousands of objects that all stay.

    Importing PyTorch and timm takes a quarter less time, saving an exported program half.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def disable_telemetry() -> None:
    """Keep compilers from sending usage statistics out of the process that compiles and times models.

    OpenVINO forks its process for each message, some of them while it converts a model: converting takes longer then,
    and so do the first timed calls. ONNX Runtime uploads from a thread of its own. Call this before these libraries are
    imported; one that is imported already is left as it is.
    """
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    # As if it were not installed: OpenVINO has no other switch for a single process.
    sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type]
