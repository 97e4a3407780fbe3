"""The power mode of an NVIDIA Jetson (`nvpmodel`), and whether its clocks are held at their upper ends."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from pytest_ngraph.system.files import text_of

ASK = ("nvpmodel", "-q")
GPU_CLOCK = "sys/class/devfreq/*gpu*"
"""The GPU's clock: `17000000.gpu` on an Orin. `jetson_clocks` raises its lower end to the upper one."""
WAIT_S = 10.0


def settings(root: Path = Path("/"), ask: tuple[str, ...] = ASK) -> dict[str, str]:
    """Return the facts `nvpmodel` and `jetson_clocks`; none on another machine."""
    found = {}
    if mode := _power_mode(ask):
        found["nvpmodel"] = mode
    for clock in sorted(root.glob(GPU_CLOCK)):
        lowest, highest = (text_of(clock / name) for name in ("min_freq", "max_freq"))
        if lowest and highest:
            found["jetson_clocks"] = "on" if lowest == highest else f"off: {lowest} to {highest} Hz"
    return found


def _power_mode(ask: tuple[str, ...]) -> str:
    """Return the mode that `nvpmodel -q` names: `NV Power Mode: MAXN`, and its number on the next line."""
    try:
        said = subprocess.run(ask, capture_output=True, text=True, timeout=WAIT_S, check=False).stdout
    except (OSError, subprocess.SubprocessError):
        return ""
    match = re.search(r"NV Power Mode: *(\S+)", said)
    return match[1] if match else ""
