"""What a device offers to the engine: the engine sends a task to whoever offers what the task needs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

KEY = "ngraph"
"""Name under which a device's worker reports about itself, and keeps what its tasks need."""

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
"""Names of devices. No two of them look the same."""


def is_name(name: Any) -> bool:
    """Return whether this can be the name of a device."""
    return isinstance(name, str) and NAME.fullmatch(name) is not None


def resource(device: str) -> str:
    """Return the name of a device's resource. The device has one of it, and each of its tasks needs one."""
    return f"{KEY}:{device}"


def are_its_own(resources: Any, message: Mapping[Any, Any]) -> bool:
    """Return whether resources are those of the name and the pool that a device joins under by this message."""
    reported = message.get("extra")
    about = reported.get(KEY) if isinstance(reported, Mapping) else None
    names = [message.get("name"), about.get("pool") if isinstance(about, Mapping) else None]
    own = {resource(name) for name in names if isinstance(name, str)}
    return isinstance(resources, Mapping) and own.issuperset(resources)
