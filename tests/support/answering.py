"""What a worker answers to `prepare`, for tests whose workers are simulated."""

from __future__ import annotations

from typing import Any

PREPARED: dict[str, Any] = {
    "agreement": {"error": 0.0, "tolerance": 1e-4},
    "convert_s": 0.5,
    "compile_s": 1.0,
    "compile_cores": 2,
    "load_s": 1.0,
    "cached_at": None,
    "warmup": {"iterations": 1, "elapsed_s": 0.1, "steady": True},
    "concurrency": 1,
    "seconds_per_call": 0.001,
    "facts": {},
}
