"""The facts of an environment in two parts, its machine and its libraries, each with a digest; and what differs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

from pytest_ngraph.machine.machine import EARLIER_FINGERPRINT, FINGERPRINT

OF_MACHINE = (
    FINGERPRINT, "architecture", "processor", "processor model", "microcode", "instruction sets", "logical CPUs",
    "memory", "gpu", "driver", "system", "governor",
)  # fmt: skip
"""Facts of the machine; every other is of what is installed or set on it."""
PASSING = (EARLIER_FINGERPRINT, "cores")
"""Facts that may differ from run to run on one machine: under a quota, a session chooses its cores."""


def of_machine(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the facts of the machine."""
    return {name: environment[name] for name in OF_MACHINE if name in environment}


def of_libraries(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the versions of Python, libraries and the C++ compiler, and the variables that configure them."""
    left_out = (*OF_MACHINE, *PASSING)
    return {name: text for name, text in sorted(environment.items()) if name not in left_out}


def digest(facts: Mapping[str, str]) -> str:
    """Return a text that is equal for equal facts; empty for none."""
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:12] if facts else ""
