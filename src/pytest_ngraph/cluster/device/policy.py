"""When a device refuses to measure: too hot, or too little disk, memory or battery left."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from pytest_ngraph.machine.health import Health

COOLING_S = 600.0
"""How long a device that is too hot waits, before it refuses."""
LOOK_S = 5.0
MIB = 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Limits outside of which nothing is measured. None stands for no limit.

    Attributes:
        max_temperature_c: the highest temperature, in degrees Celsius.
        min_disk_bytes: the least free disk space.
        min_memory_bytes: the least available memory.
        min_battery_percent: the least charge, if the machine runs on its battery.
    """

    max_temperature_c: float | None = None
    min_disk_bytes: int | None = None
    min_memory_bytes: int | None = None
    min_battery_percent: float | None = None

    def too_hot(self, health: Health) -> str:
        """Return in words that the machine is too hot; empty if it is not, or reports no temperature."""
        limit, found = self.max_temperature_c, health.temperature_c
        return f"{found:.0f} °C, more than {limit:.0f} °C" if limit and found and found > limit else ""

    def too_low(self, health: Health) -> str:
        """Return in words what the machine has too little of; empty if nothing."""
        wants = (
            ("free disk", health.disk_bytes, self.min_disk_bytes, MIB, "MiB"),
            ("available memory", health.memory_bytes, self.min_memory_bytes, MIB, "MiB"),
            ("of the battery", health.battery_percent, self.min_battery_percent, 1, "%"),
        )
        low = [
            f"{found / unit:,.0f} {name} {what}, less than {least / unit:,.0f} {name}"
            for what, found, least, unit, name in wants
            if found is not None and least is not None and found < least
        ]
        return "; ".join(low)

    def refusal(self, health: Health) -> str:
        """Return in words why nothing is measured now; empty if nothing stands against it."""
        return "; ".join(filter(None, (self.too_hot(health), self.too_low(health))))


def await_fitness(
    policy: Policy,
    read: Callable[[], Health],
    say: Callable[[str], None],
    is_wanted: Callable[[], bool] = lambda: True,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> str:
    """Wait until a machine that is too hot has cooled down, for at most `COOLING_S`.

    Args:
        policy: the limits.
        read: returns how the machine is now.
        say: called with why it waits, once.
        is_wanted: whether to go on waiting.

    Returns:
        Why nothing can be measured; empty if it can.
    """
    began = clock()
    said = False
    while policy.too_hot(health := read()) and not policy.too_low(health) and is_wanted():
        if clock() - began >= COOLING_S:
            break
        if not said:
            say(f"too hot: {policy.too_hot(health)}")
            said = True
        sleep(LOOK_S)
    return policy.refusal(health)
