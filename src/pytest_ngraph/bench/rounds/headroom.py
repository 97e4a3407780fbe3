"""Whether memory has room for one more arm beside those that are resident."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from pytest_ngraph.machine.machine import memory_share_in_use

RESIDENT_SHARE = 0.8
"""Share of the machine's memory, and of the accelerator's, that may be in use once another arm is added."""


class DeviceMemory(NamedTuple):
    """An accelerator's memory once an arm is prepared, as shares of the whole.

    Attributes:
        in_use: what all processes hold.
        grown: what came with this arm.
    """

    in_use: float = 0.0
    grown: float = 0.0


class Headroom:
    """Asked before each arm of a group whether that arm still fits.

    Assumes that the next arm needs as much memory as the largest so far. An arm keeps the memory that its calls free,
    and so holds it while others run.

    Args:
        in_use: returns the share of the machine's memory that is in use.
    """

    def __init__(self, in_use: Callable[[], float] = memory_share_in_use) -> None:
        self._in_use = in_use
        self._before: float | None = None
        self._largest = 0.0
        self._largest_on_device = 0.0

    def is_left(self, device: DeviceMemory | None = None) -> bool:
        """Return whether another arm fits. The first always does: it may use all the memory there is.

        Args:
            device: memory of the accelerator, as the last arm found it; None where arms have none.
        """
        now, device = self._in_use(), device or DeviceMemory()
        if self._before is None:
            self._before = now
            return True
        self._largest = max(self._largest, now - self._before)
        self._largest_on_device = max(self._largest_on_device, device.grown)
        self._before = now
        fits_on_device = device.in_use + self._largest_on_device < RESIDENT_SHARE
        return now + self._largest < RESIDENT_SHARE and fits_on_device
