"""When a device refuses to measure, and what it reports then."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_ngraph.cluster.device.condition import EVERY_S, Condition
from pytest_ngraph.cluster.device.folder import DeviceFolder
from pytest_ngraph.cluster.device.policy import COOLING_S, LOOK_S, MIB, Policy, await_fitness
from pytest_ngraph.cluster.device.reservation import Reservations
from pytest_ngraph.machine.health import Health

COOL_ONLY = Policy(max_temperature_c=85)
HOT, COOL = Health(temperature_c=91.2), Health(temperature_c=60.0)


class Time:
    """A clock that only sleeping moves."""

    def __init__(self) -> None:
        self.now = 0.0

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(
    ("policy", "health", "refusal"),
    [
        (Policy(), HOT, ""),
        (COOL_ONLY, HOT, "91 °C, more than 85 °C"),
        (COOL_ONLY, Health(), ""),
        (Policy(min_disk_bytes=2048 * MIB), Health(disk_bytes=7 * MIB), "7 MiB free disk, less than 2,048 MiB"),
        (Policy(min_memory_bytes=MIB), Health(memory_bytes=0), "0 MiB available memory, less than 1 MiB"),
        (Policy(min_battery_percent=40), Health(battery_percent=31), "31 % of the battery, less than 40 %"),
        (Policy(min_battery_percent=40), Health(), ""),
    ],
)
def test_what_is_outside_of_the_limits_is_said_in_words(policy: Policy, health: Health, refusal: str) -> None:
    assert policy.refusal(health) == refusal


def test_a_hot_device_measures_once_it_has_cooled_down() -> None:
    time, said = Time(), list[str]()
    found = await_fitness(
        COOL_ONLY, lambda: COOL if time.now >= 3 * LOOK_S else HOT, said.append, clock=time, sleep=time.sleep
    )
    assert (found, said) == ("", ["too hot: 91 °C, more than 85 °C"])


def test_a_device_that_stays_hot_refuses() -> None:
    time = Time()
    assert await_fitness(COOL_ONLY, lambda: HOT, lambda reason: None, clock=time, sleep=time.sleep)
    assert time.now == COOLING_S


def test_nobody_waits_for_a_disk_or_for_a_client_that_has_gone() -> None:
    policy, time = Policy(max_temperature_c=85, min_disk_bytes=1), Time()
    full = Health(temperature_c=91.2, disk_bytes=0)
    assert "less than" in await_fitness(policy, lambda: full, lambda reason: None, clock=time, sleep=time.sleep)
    assert await_fitness(policy, lambda: HOT, lambda reason: None, lambda: False, clock=time, sleep=time.sleep)
    assert time.now == 0


def test_sensors_are_left_alone_while_something_is_measured(tmp_path: Path) -> None:
    time, looks, measuring = Time(), [COOL, HOT], [False]
    condition = Condition(
        lambda: looks.pop(0), COOL_ONLY, DeviceFolder(tmp_path), lambda: measuring[0], clock=time, wall=lambda: 5.0
    )
    first = condition.now(draining=False)
    assert first == {
        "draining": False,
        "measuring": False,
        "refuses": "",
        "reserved": None,
        "health": COOL.to_dict(),
        "time": 5.0,
    }
    time.now = 2 * EVERY_S
    measuring[0] = True
    assert condition.now(draining=False)["health"] == COOL.to_dict()
    measuring[0] = False
    assert condition.now(draining=True)["refuses"] == "91 °C, more than 85 °C"
    assert condition.now(draining=True)["health"] == HOT.to_dict(), "looked at twice within `EVERY_S`"


def test_a_reservation_holds_for_others_until_it_ends(tmp_path: Path) -> None:
    now = [1000.0]
    path = tmp_path / "reservation.json"
    reservations = Reservations(path, lambda: now[0])
    assert reservations.current() is None
    assert reservations.reserve("anna@head", 60) is None
    other = Reservations(path, lambda: now[0]).against("ben@head")
    assert other is not None
    assert (other.by, other.until) == ("anna@head", 1060)
    assert reservations.against("anna@head") is None
    assert reservations.reserve("ben@head", 10) == other
    assert reservations.reserve("anna@head", 120) is None
    now[0] = 1119
    assert reservations.against("ben@head") is not None
    now[0] = 1120
    assert reservations.against("ben@head") is None
    assert reservations.reserve("ben@head", 10) is None
    reservations.release()
    assert reservations.current() is None
    path.write_text("{")
    assert reservations.against("ben@head") is None
