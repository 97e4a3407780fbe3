"""Which devices are silent or away, since when, and which have been away for too long."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any

from pytest_ngraph.clock import Clock
from pytest_ngraph.cluster.presence import JoinedDevice
from pytest_ngraph.wording import counted

LOOK_S = 10.0
"""Time between two checks of which devices are in the cluster."""
SILENT_S = 30.0
"""Time without a sign of life after which a device is named."""
AWAY_S = 900.0
"""Time to wait for a device or the scheduler to come back: a small board takes minutes to start."""


class Watch:
    """Looks after the devices that have something to measure.

    Args:
        clock: where time comes from.

    Attributes:
        gone: devices that stayed away for too long, with a message that says so.
    """

    def __init__(self, clock: Clock) -> None:
        self.gone: dict[str, str] = {}
        self._clock = clock
        self._looked_at = clock()
        self._away_since: dict[str, float] = {}
        self._heard_of: dict[str, tuple[float, float]] = {}

    @property
    def is_due(self) -> bool:
        """Whether it is time to look again."""
        return self._clock() - self._looked_at >= LOOK_S

    def look(self, present: Collection[JoinedDevice], awaited: Collection[str]) -> list[dict[str, Any]]:
        """Return messages that name the devices which are silent or away, as if their benches had sent them.

        Args:
            present: the devices that are in the cluster now.
            awaited: the names of devices and pools that have something to measure.
        """
        now = self._looked_at = self._clock()
        messages = []
        for device in sorted(awaited):
            members = [each for each in present if device in (each.name, each.pool)]
            silent = {each.name: silent_s for each in members if (silent_s := self._silent_s(each, now)) > SILENT_S}
            messages += [
                _message(name, f"has not been heard of for {silent_s:.0f} s") for name, silent_s in silent.items()
            ]
            if members:
                self._away_since.pop(device, None)
                continue
            left_s = AWAY_S - (now - self._away_since.setdefault(device, now))
            if left_s < 0:
                self.gone[device] = (
                    f"device {device} has been away for {_minutes(AWAY_S)}. Once it is back, --ngraph-resume continues "
                    "this run"
                )
            else:
                messages.append(_message(device, f"is away, and is waited for up to {_minutes(left_s)} more"))
        return messages

    def _silent_s(self, device: JoinedDevice, now: float) -> float:
        """Return for how long the scheduler has heard nothing of a device. Its clock may differ from this one."""
        heard_at, since = self._heard_of.get(device.address, (device.last_seen, now))
        if heard_at != device.last_seen:
            since = now
        self._heard_of[device.address] = device.last_seen, since
        return now - since


def _message(device: str, text: str) -> dict[str, Any]:
    return {"waiting": f"device {device} {text}", "worker": device}


def _minutes(seconds: float) -> str:
    return counted(math.ceil(seconds / 60), "minute")
