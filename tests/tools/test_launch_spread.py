"""The parts of `tools/launch_spread.py` that measure nothing."""

from __future__ import annotations

import dataclasses

import launch_spread
import pytest

from pytest_ngraph.case import Case
from pytest_ngraph.comparison import Build, Comparison, Launch, PairedRound, Quad
from pytest_ngraph.record import Record
from pytest_ngraph.store import Run


def run(*launches: Launch, compiler: str = "identity") -> Run:
    case = Case(workload="mine:network", compiler=compiler, batch_size=1)
    comparison = Comparison(launches=launches)
    return Run(id="a", records=(Record(case=case, outcome="measured", comparison=comparison),))


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


def test_only_fresh_launches_show_what_forking_does() -> None:
    screen = dataclasses.replace(launch(5.0), fresh=False)
    forked = run(screen, launch(1.0), launch(1.0), launch(1.0), compiler="tvm")
    others = run(screen, launch(1.0), launch(1.1), compiler="tvm")
    heading, _, row = launch_spread.forked_report({"forked": forked, "by itself": others}).splitlines()
    assert [cell.strip() for cell in heading.strip("|").split("|")][1:] == ["forked", "by itself"]
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    # Half of the differences of two normal values are below 0.954 deviations: ln 1.1 / 0.954.
    assert cells == ["`tvm`", "0.00 % (0.0 %), 3 launches", "9.99 % (9.5 %), 2 launches"]


def test_one_delayed_launch_is_not_the_spread() -> None:
    delayed = run(*[launch(1.0 + number / 1000) for number in range(7)], launch(2.0), compiler="tvm")
    row = launch_spread.forked_report({"forked": delayed}).splitlines()[-1]
    spread, largest = row.strip("|").split("|")[1].split("%")[:2]
    assert float(spread) < 1
    assert float(largest.strip(" (")) > 60
