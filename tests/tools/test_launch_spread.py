"""The parts of `tools/launch_spread.py` that measure nothing."""

from __future__ import annotations

import launch_spread
import pytest

from pytest_ngraph.case import Case
from pytest_ngraph.comparison import Build, Comparison, Launch, PairedRound, Quad
from pytest_ngraph.record import Record
from pytest_ngraph.store import Run


def launch(*heads: float) -> Launch:
    """Return a launch whose base always takes a second, and whose head takes these seconds."""
    quads = tuple(Quad((1.0, 1.0), (seconds, seconds)) for seconds in heads)
    return Launch(builds=(Build(rounds=(PairedRound(quads=quads, elapsed_s=1.0),)),), iterations=1, fresh=True)


def test_a_delay_of_half_the_bursts_spreads_what_counts_all_of_them() -> None:
    comparison = Comparison(launches=(launch(1.0, 1.0), launch(1.0, 2.0)))
    case = Case(workload="mine:network", compiler="identity", batch_size=1)
    run = Run(id="a", records=(Record(case=case, outcome="measured", comparison=comparison),))
    row = launch_spread.report([("busy", 1, run)]).splitlines()[-1]
    name, median, everything, half, quarter, tenth = (cell.strip() for cell in row.strip("|").split("|"))
    assert name == "one core busy all the time, 1 thread"
    # Of two values, the deviation is their distance over the root of two: 0 and ln 2 / 2.
    assert [float(text.removesuffix(" %")) for text in (median, everything)] == pytest.approx([24.51, 24.51], abs=0.01)
    assert [half, quarter, tenth] == ["0.00 %"] * 3
