"""What the processor did while some work ran: with a kernel that is made up, and with this one."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from pytest_ngraph.system import perf_events
from pytest_ngraph.system.perf_events import EVENTS, HARDWARE, Reading, counting


class MadeUp:
    """A kernel whose counters grow while work runs: by `grows` on each thread, of which they see a half."""

    def __init__(self, grows: int = 100, refuses: int = 0, hardware_only: bool = False, runs: bool = True) -> None:
        self.now = 0
        self.opened: list[tuple[tuple[int, int], int]] = []
        self.closed: list[int] = []
        self._grows, self._refuses, self._hardware_only, self._runs = grows, refuses, hardware_only, runs

    def open(self, event: tuple[int, int], thread: int) -> int:
        if thread == 13:
            raise OSError(errno.ESRCH, os.strerror(errno.ESRCH))
        if self._refuses and (event[0] == HARDWARE or not self._hardware_only):
            raise OSError(self._refuses, os.strerror(self._refuses))
        self.opened.append((event, thread))
        return len(self.opened) - 1

    def read(self, descriptor: int) -> Reading:
        return Reading(7 + self.now * self._grows, self.now * 20, self.now * 10 if self._runs else 0)

    def close(self, descriptor: int) -> None:
        self.closed.append(descriptor)

    def work(self) -> str:
        self.now += 1
        return "done"


def counted(kernel: MadeUp) -> perf_events.Counted:
    result, found = counting(kernel.work, kernel, lambda: [11, 12, 13])
    assert result == "done"
    assert sorted(kernel.closed) == [*range(len(kernel.opened))]
    return found


def test_events_of_all_threads_are_scaled_to_the_time_for_which_they_were_wanted() -> None:
    found = counted(MadeUp())
    assert found.events == dict.fromkeys(EVENTS, 2 * 100 * 2.0), "two threads, half of whose time was seen"
    assert found.refused == ""


def test_a_counter_that_never_ran_is_unknown() -> None:
    assert counted(MadeUp(runs=False)).events == {}


@pytest.mark.parametrize(
    ("number", "reason"),
    [
        (errno.ENOENT, "this machine has no hardware counters, or its hypervisor hides them"),
        (errno.EACCES, "the kernel refuses perf_event_open (Permission denied; kernel.perf_event_paranoid is "),
        (errno.ENOSYS, "perf_event_open: Function not implemented"),
    ],
)
def test_what_is_refused_has_one_reason_and_stops_nothing(number: int, reason: str) -> None:
    assert counted(MadeUp(refuses=number)).events == {}
    found = counted(MadeUp(refuses=number, hardware_only=True))
    assert [*found.events] == ["task_clock_ns"]
    assert found.refused.startswith(reason)
    assert ";" not in found.refused.replace("; kernel.perf", "")


def test_counters_are_closed_where_the_work_fails() -> None:
    kernel = MadeUp()

    def fail() -> None:
        raise ValueError("no such operator")

    with pytest.raises(ValueError, match="no such operator"):
        counting(fail, kernel, lambda: [11])
    assert sorted(kernel.closed) == [*range(len(EVENTS))]


def test_this_kernel_counts_or_says_why_not() -> None:
    descriptors = Path("/proc/self/fd")
    before = len(list(descriptors.iterdir())) if descriptors.is_dir() else 0
    total, found = counting(lambda: sum(range(3_000_000)))
    assert total == 4_499_998_500_000
    assert found.refused or {*found.events} == {*EVENTS}
    if "task_clock_ns" in found.events:
        assert 1e5 < found.events["task_clock_ns"] < 1e11
    if "instructions" in found.events:
        assert found.events["instructions"] > 3_000_000
    assert not before or len(list(descriptors.iterdir())) == before
