from __future__ import annotations

import math

import numpy as np
import pytest

from pytest_ngraph.metrics.below import surely_below
from pytest_ngraph.metrics.between import IN_GENERAL, NO_SPREAD, Between, Spread, surely_above
from pytest_ngraph.stats import Estimates

KNOWN = Between(process=Spread(0.002, 12), session=Spread(0.01, 8), source="as calibrated")
EXACT = Between(process=NO_SPREAD, session=NO_SPREAD, source="as if processes were equal")


@pytest.mark.parametrize("between", [IN_GENERAL, KNOWN, EXACT])
@pytest.mark.parametrize("steep", [False, True])
def test_all_groups_at_once_are_decided_as_each_by_itself(between: Between, steep: bool) -> None:
    """At random, with what is unusual: groups of one, equal rates, unknown bounds, no width, several sessions."""
    random = np.random.default_rng(1)
    counts = random.integers(1, 9, 2000)
    begins = np.cumsum(counts) - counts
    numbers = np.repeat(np.arange(len(counts)), counts)
    values = 100 * np.exp(random.normal(0, random.choice([0.0, 0.01, 0.05, 0.5], len(counts))[numbers]))
    order = np.lexsort((-values, numbers))
    values, widths = values[order], random.choice([0.0, 0.001, 0.02], len(values))
    lows, highs = values * np.exp(-widths), values * np.exp(widths)
    unknown = random.random(len(values)) < 0.05
    lows[unknown], highs[unknown] = 0.0, math.inf
    sessions = random.choice(2, len(values), p=(0.8, 0.2))
    steepness = random.choice([1.0, 2.5], len(values)) if steep else np.ones(len(values))
    rates = Estimates(values, lows, highs)
    found = surely_below(rates, sessions, steepness, begins, between)
    expected = list[bool]()
    for begin, count in zip(begins.tolist(), counts.tolist(), strict=True):
        own = range(begin, begin + count)
        names, steeps = [str(sessions[row]) for row in own], [float(steepness[row]) for row in own]
        best, *others = (rates[row] for row in own)
        expected += [False, *surely_above(best, others, between, steeps, names)]
    assert found.tolist() == expected
    assert 0.1 < np.mean(found) < 0.9, "both answers are frequent"


def test_without_groups_there_is_nothing_to_decide() -> None:
    none = np.empty(0)
    rows = none.astype(np.intp)
    assert surely_below(Estimates(none, none, none), rows, none, rows, IN_GENERAL).tolist() == []
