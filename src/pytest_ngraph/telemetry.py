"""Usage statistics that compilers send home, switched off where models are compiled and timed.

OpenVINO forks its process for each message, some while it converts a model: that takes longer then, and so do the first
calls that are timed. ONNX Runtime uploads from a thread of its own.
"""

from __future__ import annotations

import os
import sys


def switch_off() -> None:
    """Before these libraries are imported. One that is imported already is left as it is."""
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    # As if it were not installed. OpenVINO does without then, and has no other switch for one process.
    sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type]
