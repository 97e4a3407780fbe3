"""The figure of p99 over the rate of requests."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from drawing import rows
from synthetic import case, noisy

from pytest_ngraph.load import Load, Rate
from pytest_ngraph.report.study.data import Study
from pytest_ngraph.report.study.figures import FIGURES
from pytest_ngraph.store import Run

RATES = (90.0, 110.0, 100.0)


def test_a_curve_for_each_compiler_beside_the_limit() -> None:
    records = []
    for compiler, call_s in (("openvino", 0.01), ("tvm", 0.02)):
        seconds = np.linspace(call_s, 3 * call_s, 1000)
        rates = tuple(
            Rate(per_s=per_s, seconds=tuple(seconds * per_s / 100), calls=1000, shows=100.0) for per_s in RATES
        )
        loaded = Load(limit_s=0.05, call_s=call_s, rates=rates)
        record = noisy(case(compiler, objective="serving"), call_s)
        records.append(dataclasses.replace(record, load=loaded))
    records.append(noisy(case("identity"), 0.03))
    study = Study.of([Run(id="a", environment={}, records=tuple(records))])
    assert study.loads.height == 6
    drawn = rows("load", study, compiler="tvm")
    assert drawn["per_s"].to_list() == sorted(RATES)
    assert drawn["limit_s"].unique().to_list() == [0.05]
    assert drawn["value"].to_list() == pytest.approx([0.0536, 0.0596, 0.0656], rel=0.01)
    assert FIGURES["load"](study).missing == ""


def test_without_load_it_says_how_to_get_some() -> None:
    assert FIGURES["load"](Study()).missing == "needs cases under load: --objective=serving"
