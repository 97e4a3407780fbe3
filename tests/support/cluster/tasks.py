"""Functions that tests run on devices. They are sent by name: the devices find this module through PYTHONPATH."""

from __future__ import annotations

import time
from pathlib import Path

from distributed import get_worker

from pytest_ngraph.cluster.device.plugin import plugin_of


def wait_for_file(path: str) -> str:
    """Run until a test makes this file, with a file `.begun` from the start on. Returns the device's name."""
    Path(path).with_suffix(".begun").touch()
    while not Path(path).exists():
        time.sleep(0.02)
    return plugin_of(get_worker()).device
