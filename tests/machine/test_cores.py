"""The cores that a process computes on, and which of them it takes if it may not use them all."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import psutil
import pytest

from pytest_ngraph.machine import cgroup, gpus, machine
from pytest_ngraph.machine.cores import Core, allowed, capacities, chosen, idle_seconds, idle_shares, to_compile_on

EIGHT = [Core(cpu, (cpu, cpu + 8), package=str(cpu // 4)) for cpu in range(8)]


def first(neighbours: Sequence[Sequence[int]]) -> Sequence[int]:
    return neighbours[0]


def test_compiling_uses_every_thread_of_every_core_but_no_more_than_a_quota_allows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {3, 0, 1, 2})
    monkeypatch.setattr(cgroup, "cpus", lambda: None)
    assert to_compile_on((0, 1)) == (0, 1, 2, 3)
    monkeypatch.setattr(cgroup, "cpus", lambda: 2)
    assert to_compile_on((0, 1)) == (0, 1)


def test_two_containers_with_a_quota_do_not_bind_to_the_same_cores() -> None:
    mine = chosen(EIGHT, 2, {})
    busy = dict.fromkeys(mine, 0.1)
    for _ in range(20):  # each draws from what is free
        theirs = chosen(EIGHT, 2, busy)
        assert len(theirs) == 2
        assert not {*mine} & {*theirs}


def test_two_that_begin_together_seldom_take_the_same() -> None:
    assert len({chosen(EIGHT, 2, {}) for _ in range(200)}) == 4


def test_a_core_is_busy_if_one_of_its_siblings_is() -> None:
    assert chosen(EIGHT, 2, {8: 0.0}, first) == (1, 2)


def test_neighbours_are_of_one_processor() -> None:
    assert chosen(EIGHT, 3, {0: 0.0, 1: 0.0}, first) == (4, 5, 6)


def test_where_too_few_are_idle_the_idlest_are_taken() -> None:
    idle = {cpu: 0.1 * (cpu % 4) for cpu in range(8)}
    assert chosen(EIGHT, 2, idle) == (3, 7)
    assert chosen(EIGHT, 6, {0: 0.0, 5: 0.0}) == (1, 2, 3, 4, 6, 7), "of both processors, if one has too few"


def test_idling_is_watched_for_a_moment() -> None:
    now_s = [0.0]

    def sleep(seconds: float) -> None:
        now_s[0] += seconds

    assert idle_shares(lambda: {0: now_s[0], 1: 0.0}, lambda: now_s[0], sleep) == {0: 1.0, 1: 0.0}


def test_idling_is_that_of_a_cpu_of_this_number_where_others_are_offline(tmp_path: Path) -> None:
    """As with `nosmt`, where the second thread of each core is offline."""
    statistics, now_s = tmp_path / "stat", [0.0]

    def sleep(seconds: float) -> None:
        now_s[0] += seconds

    def idle() -> dict[int, float]:
        free = round(now_s[0] * os.sysconf("SC_CLK_TCK"))
        lines = ["cpu  1 2 3 4 5", f"cpu0 1 2 3 {free} 5", "cpu2 1 2 3 4 5", f"cpu4 1 2 3 {free} 5", "intr 1 2 3 4 5"]
        statistics.write_text("\n".join(lines))
        return idle_seconds(statistics)

    assert idle_shares(idle, lambda: now_s[0], sleep) == pytest.approx({0: 1.0, 2: 0.0, 4: 1.0})


def test_where_there_is_no_such_list_all_cpus_have_their_times(tmp_path: Path) -> None:
    assert list(idle_seconds(tmp_path / "missing")) == list(range(psutil.cpu_count() or 0))


def test_one_logical_cpu_of_each_physical_core_is_allowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for cpu, siblings in {1: "0-1", 2: "2,6", 6: "2,6", 7: "7"}.items():
        (tmp_path / f"cpu{cpu}" / "topology").mkdir(parents=True)
        (tmp_path / f"cpu{cpu}" / "topology" / "thread_siblings_list").write_text(siblings + "\n")
        (tmp_path / f"cpu{cpu}" / "topology" / "physical_package_id").write_text("0\n")
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {1, 2, 6, 7, 9}, raising=False)
    assert allowed(tmp_path) == [Core(1, (0, 1), "0"), Core(2, (2, 6), "0"), Core(7, (7,), "0"), Core(9, (9,), "")]


def test_cores_of_arm_have_no_siblings_but_may_differ_in_strength(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As an RK3588 lists them: four Cortex-A55 before four Cortex-A76, and no folder `physical_package_id`."""
    for cpu in range(8):
        (tmp_path / f"cpu{cpu}" / "topology").mkdir(parents=True)
        (tmp_path / f"cpu{cpu}" / "topology" / "thread_siblings_list").write_text(f"{cpu}\n")
        (tmp_path / f"cpu{cpu}" / "cpu_capacity").write_text("446\n" if cpu < 4 else "1024\n")
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(8)), raising=False)
    assert allowed(tmp_path) == [Core(cpu, (cpu,)) for cpu in range(8)]
    assert capacities(range(8), tmp_path) == "4 of 446, 4 of 1024"
    assert capacities((4, 5), tmp_path) == ""
    assert capacities((0, 9), tmp_path) == "", "a system that does not list them"


@pytest.fixture
def eight_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "allowed", lambda: EIGHT)
    monkeypatch.setattr(machine, "idle_shares", lambda: dict.fromkeys(range(4), 0.0))


@pytest.mark.usefixtures("eight_cores")
def test_this_machine_takes_idle_cores_under_a_quota(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cgroup, "cpus", lambda: 2)
    found = machine.this_machine.__wrapped__()
    assert (len(found.cores), found.quota) == (2, 2)
    assert {*found.cores} <= {4, 5, 6, 7}


@pytest.mark.usefixtures("eight_cores")
@pytest.mark.parametrize("quota", [None, 8, 64])
def test_without_a_quota_that_matters_all_are_taken(quota: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cgroup, "cpus", lambda: quota)
    assert machine.this_machine.__wrapped__().cores == tuple(range(8))


@pytest.mark.usefixtures("eight_cores")
def test_a_worker_that_is_bound_does_not_look_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its parent has chosen them, and it would spend a moment before it compiles."""
    monkeypatch.setattr(cgroup, "cpus", lambda: 2)
    monkeypatch.setattr(machine, "is_bound", lambda: True)
    monkeypatch.setattr(machine, "idle_shares", lambda: pytest.fail("it looks"))
    assert len(machine.this_machine.__wrapped__().cores) == 2


@pytest.mark.usefixtures("eight_cores")
def test_a_machine_in_words_needs_no_look(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cgroup, "cpus", lambda: 2)
    monkeypatch.setattr(machine, "idle_shares", lambda: pytest.fail("it looks"))
    monkeypatch.setattr(gpus, "listed", lambda: ["NVIDIA H200"] * 2)
    assert machine.in_words.__wrapped__().endswith(", 2 cores, 2 x NVIDIA H200")
