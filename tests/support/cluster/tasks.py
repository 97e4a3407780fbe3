"""What tests run on devices, by reference: their processes find this module by PYTHONPATH."""

from __future__ import annotations

import time
from pathlib import Path

from distributed import get_worker

from pytest_ngraph.cluster.device.device import DevicePlugin
from pytest_ngraph.cluster.presence import KEY


def wait_for_file(path: str) -> str:
    """Takes as long as a test wants, and tells by a file of its own that it began. Gives the device's name."""
    Path(path).with_suffix(".begun").touch()
    while not Path(path).exists():
        time.sleep(0.02)
    plugin = get_worker().plugins[KEY]
    assert isinstance(plugin, DevicePlugin)
    return plugin.device
