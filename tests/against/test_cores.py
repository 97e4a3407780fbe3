"""The number of cores on which head and base are compared."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from pytest_ngraph.against.calibrating import FromItself
from pytest_ngraph.against.live import LiveBase
from pytest_ngraph.against.options import GateOptions
from pytest_ngraph.bench.processes.free_cores import FreeCores

CORES = (0, 2, 4, 6)


class Counted(FreeCores):
    """Reports this many free cores, and counts how often it is asked."""

    def __init__(self, free: int) -> None:
        super().__init__()
        self.free = free
        self.asked = 0

    def count_free(self, cores: Sequence[int]) -> int:
        self.asked += 1
        return self.free


def against(free: int, **options: int) -> LiveBase:
    return LiveBase(FromItself(), GateOptions(**options), free_cores=Counted(free))  # type: ignore[arg-type]  # by name


@pytest.mark.parametrize("free", [0, 4])
def test_all_where_all_are_free_or_none_is(free: int) -> None:
    run = against(free)
    assert run.threads(CORES) == 4
    assert run.notes == []


def test_fewer_where_other_work_has_some() -> None:
    run = against(free=3)
    assert run.threads(CORES) == 3
    assert run.notes == [
        "Compared on 3 cores of 4, because other work kept the others busy at the beginning; "
        "to use all: --ngraph-gate-threads=4."
    ]


def test_once_decided_it_stays() -> None:
    free_cores = Counted(3)
    run = LiveBase(FromItself(), GateOptions(), free_cores=free_cores)
    run.threads(CORES)
    free_cores.free = 4
    assert run.threads(CORES) == 3
    assert free_cores.asked == 1


def test_what_was_asked_for_is_taken() -> None:
    run = against(free=1, threads=2)
    assert run.threads(CORES) == 2
    assert run.notes == []


def test_a_resumed_run_stays_with_as_many_as_it_had() -> None:
    run = against(free=4)
    assert run.threads(CORES, before=2) == 2
    (note,) = run.notes
    assert note == "Compared on 2 cores of 4, as at the beginning of this run; to use all: --ngraph-gate-threads=4."
