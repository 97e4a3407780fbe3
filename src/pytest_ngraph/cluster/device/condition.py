"""What a device reports with each heartbeat."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from pytest_ngraph.bench.processes.lock import is_held
from pytest_ngraph.cluster.device.folder import DeviceFolder
from pytest_ngraph.cluster.device.policy import Policy
from pytest_ngraph.cluster.device.reservation import Reservations
from pytest_ngraph.machine.health import Health

EVERY_S = 30.0
"""Time between two looks at the sensors: some firmware stops all cores while they are read."""


class Condition:
    """A device's condition. The machine's health is looked at only while nothing is measured.

    Args:
        read: returns the machine's health.
        policy: when the device refuses to measure.
        folder: has the device's reservation.
        is_measuring: whether anything is measured on this machine.
    """

    def __init__(
        self,
        read: Callable[[], Health],
        policy: Policy,
        folder: DeviceFolder,
        is_measuring: Callable[[], bool] = is_held,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._read = read
        self._policy = policy
        self._reservations = Reservations(folder.reservation, wall)
        self._is_measuring = is_measuring
        self._clock = clock
        self._wall = wall
        self._read_at = float("-inf")
        self._health = Health()

    def now(self, *, draining: bool) -> dict[str, Any]:
        """Return the condition as JSON-ready data."""
        measuring = self._is_measuring()
        if not measuring and self._clock() - self._read_at >= EVERY_S:
            self._health, self._read_at = self._read(), self._clock()
        reserved = self._reservations.current()
        return {
            "reserved": asdict(reserved) if reserved else None,
            "draining": draining,
            "measuring": measuring,
            "refuses": self._policy.refusal(self._health),
            "health": self._health.to_dict(),
            "time": self._wall(),
        }
