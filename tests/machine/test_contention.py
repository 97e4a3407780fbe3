from __future__ import annotations

import time
from pathlib import Path

import pytest

from pytest_ngraph.machine.contention import Counters, asleep_s, between, read, throttles
from pytest_ngraph.record import Contention


def test_counters_are_read_from_the_kernel(tmp_path: Path) -> None:
    (tmp_path / "pressure").mkdir()
    (tmp_path / "pressure" / "cpu").write_text("some avg10=0.00 avg60=0.00 avg300=0.00 total=123456\n")
    (tmp_path / "stat").write_text("cpu  1 2 3 4 5 6 7 80 9 10\ncpu0 0 0 0 0 0 0 0 0 0 0\n")
    assert read(tmp_path) == Counters(pressure_us=123456, steal_ticks=80, all_ticks=108)


def test_pressure_is_that_of_the_own_group_where_the_kernel_has_it(tmp_path: Path) -> None:
    """The neighbours of a container wait for other CPUs than its own; a quota that is used up shows in its group."""
    for name, text in {
        "self/cgroup": "0::/pod\n",
        "self/mountinfo": f"31 23 0:28 / {tmp_path / 'groups'} rw - cgroup2 cgroup rw\n",
        "groups/pod/cpu.pressure": "some avg10=0.00 avg60=0.00 avg300=0.00 total=7\nfull avg10=0.00 total=5\n",
        "pressure/cpu": "some avg10=0.00 avg60=0.00 avg300=0.00 total=123456\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert read(tmp_path).pressure_us == 7


def test_throttles_are_summed_over_the_cpus(tmp_path: Path) -> None:
    for cpu, core, package in (("cpu0", 2, 10), ("cpu1", 3, 10)):
        (tmp_path / cpu / "thermal_throttle").mkdir(parents=True)
        (tmp_path / cpu / "thermal_throttle" / "core_throttle_count").write_text(f"{core}\n")
        (tmp_path / cpu / "thermal_throttle" / "package_throttle_count").write_text(f"{package}\n")
    assert throttles(tmp_path) == 25


def test_how_far_the_clocks_are_apart_is_how_long_the_machine_slept(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = {"boot": 5000.0, "monotonic": 4400.0}
    monkeypatch.setattr(time, "CLOCK_BOOTTIME", "boot", raising=False)
    monkeypatch.setattr(time, "CLOCK_MONOTONIC", "monotonic")
    monkeypatch.setattr(time, "clock_gettime", now_s.__getitem__)
    assert asleep_s() == 600
    monkeypatch.delattr(time, "CLOCK_BOOTTIME")
    assert asleep_s() is None


def test_a_kernel_that_reports_nothing(tmp_path: Path) -> None:
    nothing = read(tmp_path)
    assert nothing == Counters(None, None, None)
    assert throttles(tmp_path) is None
    assert between(nothing, nothing, elapsed_s=1, involuntary_switches=3) == Contention(involuntary_switches=3)


def test_percentages_are_of_the_time_between() -> None:
    start = Counters(pressure_us=1_000_000, steal_ticks=10, all_ticks=1000)
    end = Counters(pressure_us=1_500_000, steal_ticks=30, all_ticks=1200)
    found = between(start, end, elapsed_s=2.0, involuntary_switches=0)
    assert found.pressure_percent == pytest.approx(25)
    assert found.steal_percent == pytest.approx(10)
