"""Waiting for cores to become free, on a simulated clock."""

from __future__ import annotations

from collections.abc import Callable

from pytest_ngraph.bench.processes.free_cores import LONGEST_S, LOOK_S, FreeCores


class Machine:
    """Two cores, the second of which is busy until `busy_until_s`, and a clock that only sleeping advances."""

    def __init__(self, busy_until_s: float) -> None:
        self.now_s = 0.0
        self.busy_until_s = busy_until_s

    def free_cores(self) -> FreeCores:
        return FreeCores(self.idle, lambda: self.now_s, self.sleep)

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds

    def idle(self) -> dict[int, float]:
        return {0: self.now_s, 1: max(0.0, self.now_s - self.busy_until_s)}


def waited(machine: Machine, wait: Callable[[], None]) -> float:
    started = machine.now_s
    wait()
    return machine.now_s - started


def test_a_free_machine_takes_one_look() -> None:
    machine = Machine(busy_until_s=0.0)
    free_cores = machine.free_cores()
    assert waited(machine, lambda: free_cores.wait((0, 1))) == LOOK_S


def test_it_goes_on_when_a_burst_ends() -> None:
    machine = Machine(busy_until_s=0.3)
    free_cores = machine.free_cores()
    assert 0.3 < waited(machine, lambda: free_cores.wait((0, 1))) <= 0.3 + 2 * LOOK_S


def test_other_cores_may_be_busy() -> None:
    machine = Machine(busy_until_s=10.0)
    free_cores = machine.free_cores()
    assert waited(machine, lambda: free_cores.wait((0,))) == LOOK_S


def test_cores_are_known_by_their_number_where_others_are_offline() -> None:
    machine = Machine(busy_until_s=10.0)
    free_cores = FreeCores(lambda: {0: machine.now_s, 2: 0.0, 4: machine.now_s}, lambda: machine.now_s, machine.sleep)
    assert free_cores.count_free((0, 2, 4)) == 2
    assert free_cores.count_free((0, 4)) == 2


def test_what_does_not_end_is_waited_for_less_and_less() -> None:
    machine = Machine(busy_until_s=1000.0)
    free_cores = machine.free_cores()
    waits_s = []
    for _ in range(600):
        waits_s.append(waited(machine, lambda: free_cores.wait((0, 1))))
        machine.sleep(0.1)
    assert LONGEST_S <= max(waits_s) <= LONGEST_S + 2 * LOOK_S
    assert sum(waits_s) < 0.1 * 60, "of the minute"
    assert waits_s[-1] == 0.0


def test_a_burst_that_ends_restores_it() -> None:
    machine = Machine(busy_until_s=2.0)
    free_cores = machine.free_cores()
    free_cores.wait((0, 1))
    machine.sleep(10.0)
    free_cores.wait((0, 1))
    machine.busy_until_s = machine.now_s + 0.2
    assert waited(machine, lambda: free_cores.wait((0, 1))) > 0.2


def test_cores_that_are_free_are_counted() -> None:
    assert Machine(busy_until_s=0.0).free_cores().count_free((0, 1)) == 2
    assert Machine(busy_until_s=0.3).free_cores().count_free((0, 1)) == 2, "a burst ends"
    assert Machine(busy_until_s=10.0).free_cores().count_free((0, 1)) == 1
    assert Machine(busy_until_s=10.0).free_cores().count_free((1,)) == 0


def test_cores_that_the_system_does_not_list_count_as_free() -> None:
    assert Machine(busy_until_s=10.0).free_cores().count_free((1, 2, 3)) == 2
