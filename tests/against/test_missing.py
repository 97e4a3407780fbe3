"""Cases that only the base has."""

from __future__ import annotations

from collections.abc import Sequence

from synthetic import case

from pytest_ngraph.against.live import LiveBase
from pytest_ngraph.against.options import GateOptions
from pytest_ngraph.against.origin import Found
from pytest_ngraph.bench.processes.home import Home
from pytest_ngraph.case import Case

KEPT, SKIPPED, GONE = (case("tvm", size) for size in (1, 8, 32))


class Base:
    """An origin that has all three cases."""

    name = identity = "main"
    has_own_libraries = False
    description = "base: main"

    def open(self, heads: Sequence[tuple[str, Case]]) -> Found:
        return Found(bases={KEPT: KEPT}, home=Home(), missing=[SKIPPED, GONE])

    def close(self) -> None:
        """Do nothing: `open` makes nothing."""


def test_a_case_that_the_head_has_and_does_not_measure_is_not_missing() -> None:
    run = LiveBase(Base(), GateOptions(against="main"))
    run.expect({KEPT, SKIPPED})
    run.open([("test_it.py::test", KEPT)])
    assert [(each.case, each.name) for each in run.verdicts.values()] == [(GONE, "missing")]
    assert run.conclude() == []
