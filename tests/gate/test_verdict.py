from __future__ import annotations

import dataclasses
import math
from typing import Any

import pytest
from launching import PRIORS, exact, launch, paired_round
from synthetic import case

from pytest_ngraph.comparison import Comparison
from pytest_ngraph.gate import Rule, Verdict, missing, verdict
from pytest_ngraph.stats import Estimate

CASE = case("openvino", 8)
RULE = Rule(cells=10, priors=PRIORS)
MAIN = "main at 1a2b3c4"


def of(*ratios: float, screen: float = 0.0, rule: Rule = RULE, **fields: Any) -> Verdict:
    """Return the verdict on a screen and fresh launches with these log ratios."""
    launches = (exact(screen, fresh=False), *map(exact, ratios))
    return verdict(CASE, Comparison(**{"against": MAIN, "launches": launches, **fields}), rule)


def test_regressed() -> None:
    found = of(*[0.03] * 3, screen=0.03)
    assert found.name == "regressed"
    assert found.ratio
    assert found.ratio.value == pytest.approx(math.exp(0.03))
    assert found.confidence == pytest.approx(1 - 2 * 0.001 * (3 / 8) ** 2)
    assert found.text == (
        "regressed: 3.0 % slower than main at 1a2b3c4 (99.97 % interval 1.5 to 4.6 %), 4 launches, "
        "0 of 20 rounds disturbed, margin 1.0 %"
    )


def test_improved() -> None:
    found = of(*[-0.03] * 3, screen=-0.03)
    assert found.name == "improved"
    assert found.text.startswith("improved: 3.0 % faster than main at 1a2b3c4 (99.97 % interval 1.5 to 4.4 %)")


def test_unchanged() -> None:
    found = of()
    assert found.name == "unchanged"
    assert found.ratio
    assert found.ratio.high < 1.01
    assert found.text == (
        "unchanged: 0.0 % slower than main at 1a2b3c4 (90 % interval -0.9 to 0.9 %), 1 launch, 0 of 5 rounds "
        "disturbed, margin 1.0 %"
    )


def test_details_are_what_there_is() -> None:
    assert Verdict(case=CASE, name="lost").details == {}
    found = dataclasses.replace(of(), compared="module", why="in conv")
    assert found.details == {"compared": "module", "margin": "1.0 %", "why": "in conv"}


@pytest.mark.parametrize("ratio", [0.02, 0.03, 0.05, -0.02, -0.05, 0.0, 0.009])
@pytest.mark.parametrize("count", [0, 3, 8])
def test_the_interval_shows_why(ratio: float, count: int) -> None:
    found = of(*[ratio + offset for offset in (0.002, -0.002) * 4][:count], screen=ratio)
    assert found.ratio
    shows = {
        "regressed": found.ratio.low > 1.01,
        "improved": found.ratio.high < 1 / 1.01,
        "unchanged": found.ratio.high < 1.01,
        "inconclusive": count < 3 or found.ratio.low <= 1.01,
    }
    assert shows[found.name]


def test_effort_is_counted() -> None:
    busy = launch(*[paired_round(0.02, 0.021, pressure_percent=40.0, elapsed_s=0.3)] * 2)
    quiet = launch(*[paired_round(0.02, 0.021, pressure_percent=0.0)] * 6, fresh=False)
    found = verdict(CASE, Comparison(launches=(quiet, busy)), RULE)
    assert (found.launches, found.fresh, found.rounds, found.disturbed) == (2, 1, 8, 2)
    assert found.pressure_percent == pytest.approx(20)
    assert found.measured_s == pytest.approx(1.2)
    assert found.p == 1


def test_nothing_to_measure() -> None:
    found = verdict(CASE, Comparison(against=MAIN, same=True), RULE)
    assert found.ratio == Estimate(1, 1, 1)
    assert found.text == "unchanged: same graph, weights and inputs, nothing to measure"


def test_new_and_missing() -> None:
    assert verdict(CASE, Comparison(against=MAIN, new=True), RULE).text == "new: main at 1a2b3c4 does not have it"
    fails = Comparison(against=MAIN, problem="its outputs are wrong")
    assert verdict(CASE, fails, RULE).text == "inconclusive: its outputs are wrong"
    assert missing(CASE, MAIN).text == "missing: only main at 1a2b3c4 has it"


def test_a_problem_is_the_reason() -> None:
    assert of(launches=(), problem="no memory").text == "inconclusive: no memory"
    found = of(problem="measuring it again failed")
    assert found.name == "inconclusive"
    assert found.text.startswith("inconclusive: measuring it again failed; 0.0 % slower than")


def test_reasons_of_what_could_not_be_decided() -> None:
    busy = launch(*[paired_round(0.005, 0.012, pressure_percent=48.0)] * 12, *[paired_round(0.007)] * 8, fresh=False)
    found = verdict(CASE, Comparison(launches=(busy,)), RULE)
    assert found.reason == "the machine is too busy: 12 of 20 rounds disturbed, CPU pressure 48 %"
    hot = launch(
        *[paired_round(0.005, 0.012, throttled_by="cpufreq-cpu0")] * 9,
        *[paired_round(0.005, 0.012, pressure_percent=48.0)] * 3,
        *[paired_round(0.007)] * 8,
        fresh=False,
    )
    found = verdict(CASE, Comparison(launches=(hot,)), RULE)
    assert found.reason.startswith("clocks were held down (cpufreq-cpu0): 12 of 20 rounds disturbed")
    assert of(0.01, 0.01, screen=0.01).reason == (
        "measuring ended after 2 fresh launches, but calling a regression takes at least 3"
    )
    assert of(*[0.01] * 8, screen=0.01).reason == (
        "neither surely within the margin of 1 % nor surely beyond it, after 8 fresh launches"
    )
    assert of(launches=(launch(paired_round(0.0)),)).reason == "too little was measured to estimate the error"


def test_more_launches_detect_less() -> None:
    found = of()
    assert found.detectable
    assert 0.015 < found.detectable < 0.03
    smaller = of(rule=Rule(cells=10, most_launches=5, priors=PRIORS)).detectable
    assert smaller
    assert smaller > found.detectable


def test_p_is_that_of_the_strongest_look() -> None:
    three, five = of(*[0.02] * 3).p, of(*[0.02] * 5).p
    assert five < three < 1
    assert of(*[0.02] * 3, *[0.0] * 2).p == three
