from __future__ import annotations

import math

import pytest
from changing import Base, known
from synthetic import case, noisy

from pytest_ngraph.gate import Rule, Threshold
from pytest_ngraph.gate.metric_gate import MetricGate, gated
from pytest_ngraph.gate.metric_verdict import MetricVerdict
from pytest_ngraph.gate.pooling import EXACTLY_EQUAL
from pytest_ngraph.metrics import compute

SECONDS = {("identity", "swin"): 0.2, ("identity", "vgg"): 0.1, ("tvm", "swin"): 0.02, ("tvm", "vgg"): 0.03}
"""Under identity vgg is faster, under tvm it is slower: an inversion."""
CASES = {key: case(key[0], workload=key[1]) for key in SECONDS}
SAME = dict.fromkeys(CASES.values(), EXACTLY_EQUAL)


def judged(changed: dict[tuple[str, str], float], rule: Rule | None = None, error: float = 0.002) -> MetricVerdict:
    """Return the verdict where the times of these cells changed by these log ratios."""
    times = SAME | {CASES[key]: known(by, error) for key, by in changed.items()}
    base = Base(times=times, logs={CASES[key]: math.log(s) for key, s in SECONDS.items()}, rule=rule or Rule())
    gate = MetricGate(base)
    gate.expect(gated([(Threshold.parse("rank_inversions:new"), None)], list(CASES.values())))
    gate.conclude(compute([noisy(CASES[key], seconds, seed=i) for i, (key, seconds) in enumerate(SECONDS.items())]))
    (found,) = gate.verdicts
    return found


@pytest.mark.parametrize("changed", [{("tvm", "vgg"): 1.0}, {("identity", "vgg"): -1.0}])
def test_what_the_base_had_in_the_same_order_is_new(changed: dict[tuple[str, str], float]) -> None:
    found = judged(changed)
    assert found.name == "regressed"
    assert found.case is None
    assert ": 1 new inversion: vgg-b1-xeon beats swin-b1-xeon under identity" in found.text


def test_what_the_base_had_too_is_unchanged() -> None:
    found = judged({("tvm", "vgg"): 0.1})
    assert (found.name, found.reason) == ("unchanged", "1 inversion, none of them new")
    assert judged({}).name == "unchanged"


def test_a_tie_at_the_base_is_inconclusive() -> None:
    found = judged({("tvm", "vgg"): math.log(SECONDS["tvm", "vgg"]) - math.log(SECONDS["tvm", "swin"])})
    assert (found.name, found.p) == ("inconclusive", 1)
    assert found.reason == "1 inversion; it is unknown for 1 whether the base has it"


def test_an_order_that_was_the_other_way_round_twice_is_an_inversion_too() -> None:
    assert judged({("tvm", "vgg"): 1.0, ("identity", "vgg"): -1.0}).name == "unchanged"


def test_it_takes_what_the_level_leaves() -> None:
    changed = {("tvm", "vgg"): math.log(1.5) + 0.01}
    p = judged(changed).p
    assert 1e-4 < p < 0.5
    assert judged(changed, Rule(level=2 * p)).name == "regressed"
    assert judged(changed, Rule(level=p / 2)).name == "inconclusive"
