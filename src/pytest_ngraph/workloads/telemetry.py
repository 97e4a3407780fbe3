"""Process-wide settings for importing and using frameworks: telemetry."""

from __future__ import annotations

import os
import sys


def disable_telemetry() -> None:
    """Keep compilers from sending usage statistics out of the process that compiles and times models.

    OpenVINO forks its process for each message, also while it converts a model, which slows down converting and the
    first timed calls. ONNX Runtime uploads from a thread of its own. Call this before these libraries are imported; it
    has no effect on one that is imported already.
    """
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    # Makes it look not installed: OpenVINO has no other switch for a single process.
    sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type]
