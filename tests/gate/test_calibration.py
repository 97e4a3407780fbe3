from __future__ import annotations

import json
import math
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest
from launching import Machine, exact
from synthetic import case

from pytest_ngraph.comparison import Build, Comparison, Launch, PairedRound, Quad
from pytest_ngraph.gate import Calibration, Rule, calibrate
from pytest_ngraph.gate.calibration import estimate_processes, estimate_spread
from pytest_ngraph.gate.pooling import Prior
from pytest_ngraph.metrics.between import IN_GENERAL


def comparisons(spread: float, cells: int = 30, count: int = 4) -> list[Comparison]:
    machine = Machine(random=np.random.default_rng(1), spread=spread)
    return [Comparison(launches=tuple(islice(machine.launches(0.0), count))) for _ in range(cells)]


@pytest.mark.parametrize("spread", [0.004, 0.01])
def test_spread_is_what_launches_differ_by_beyond_their_own_error(spread: float) -> None:
    assert estimate_spread(comparisons(spread)).spread == pytest.approx(spread, rel=0.2)


def test_a_spread_is_worth_as_many_degrees_of_freedom_as_launches_up_to_a_few() -> None:
    assert estimate_spread(comparisons(0.004, cells=1)).dof == 4
    assert estimate_spread(comparisons(0.004)).dof == 8


def test_launches_that_agree_too_well_agree_by_chance() -> None:
    assert estimate_spread([Comparison(launches=(exact(0.0), exact(0.0)))]) == Prior(0.0005, 2)


def test_a_lasting_difference_is_spread_too() -> None:
    assert estimate_spread([Comparison(launches=(exact(0.01), exact(0.01)))]).spread == pytest.approx(0.01, rel=0.1)


def test_no_launches_no_spread() -> None:
    with pytest.raises(ValueError, match="needs launches"):
        estimate_spread([Comparison()])


def test_calibration() -> None:
    alarm = Comparison(launches=(exact(0.1),) * 3)
    measured = [(case("openvino", size), each) for size, each in enumerate([*comparisons(0.002, 5), alarm], 1)]
    apart = Comparison(placement="apart", launches=(exact(0.01), exact(-0.01)))
    found = calibrate([*measured, (case("tvm"), apart)], Rule(), machine="a", when="2026-11-21T12:00:00Z")
    assert (found.cells, found.false_alarms) == (7, 1)
    assert set(found.priors) == {"together", "apart"}
    assert Calibration.from_dict(json.loads(json.dumps(found.to_dict()))) == found
    assert found.processes is not None
    assert found.between.process == found.processes
    assert ", times of processes by " in found.text


def test_a_calibration_of_an_earlier_version_can_be_read() -> None:
    seen = Calibration(machine="a", priors={"together": Prior(0.001, 8)}, cells=1, false_alarms=0, when="2026-11-21")
    written = seen.to_dict()
    del written["processes"]
    assert Calibration.from_dict(written) == seen
    assert seen.between == IN_GENERAL


@pytest.mark.parametrize("deviation", [0.004, 0.03])
def test_how_much_the_times_of_processes_spread(deviation: float) -> None:
    """Both arms of a launch are equally slow, which their ratio does not show."""
    random = np.random.default_rng(1)

    def slower(launch: Launch, factor: float) -> Launch:
        quads = (Quad((factor, factor), (factor, factor)) for _ in range(4))
        return replace(launch, builds=(Build(rounds=(PairedRound(quads=tuple(quads), elapsed_s=0.1),)),))

    cells = [
        Comparison(launches=tuple(slower(exact(0.0), math.exp(random.normal(0, deviation))) for _ in range(5)))
        for _ in range(60)
    ]
    found = estimate_processes(cells)
    assert found.deviation == pytest.approx(deviation, rel=0.15)
    assert found.dof == 8
    few = estimate_processes(cells[:1])
    assert abs(few.deviation - IN_GENERAL.process.deviation) < abs(found.deviation - IN_GENERAL.process.deviation)


def test_a_calibration_replaces_the_priors_of_what_it_measured() -> None:
    seen = Calibration(machine="a", priors={"together": Prior(0.001, 8)}, cells=1, false_alarms=0, when="")
    assert seen.applied(Rule()).priors == {"together": Prior(0.001, 8), "apart": Rule().priors["apart"]}
