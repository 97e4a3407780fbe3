from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from launching import PRIORS, exact
from synthetic import case

from pytest_ngraph.case import Case
from pytest_ngraph.comparison import Comparison
from pytest_ngraph.gate import Rule, holm, verdict
from pytest_ngraph.gate.verdict import Verdict

RULE = Rule(cells=3, priors=PRIORS)


def judged(*ratios: float, launches: int = 3) -> tuple[list[Verdict], dict[Case, Comparison]]:
    """Return verdicts on cells with these log ratios, each as if it were the first."""
    comparisons = {
        case("openvino", size): Comparison(launches=(exact(ratio),) * launches) for size, ratio in enumerate(ratios, 1)
    }
    return [verdict(cell, comparison, RULE) for cell, comparison in comparisons.items()], comparisons


def settled(verdicts: list[Verdict], comparisons: Mapping[Case, Comparison], rule: Rule = RULE) -> list[Verdict]:
    def judge(cell: Case, stricter: Rule) -> Verdict:
        return verdict(cell, comparisons[cell], stricter)

    return list(holm({each.case: each for each in verdicts}, judge, rule).values())


def between(level: float, above: float) -> float:
    """Return a log ratio whose p-value after three launches lies between two levels."""
    for step in range(10, 60):
        [found], _ = judged(step / 1000)
        if above < found.p <= level:
            return step / 1000
    pytest.fail(f"no log ratio has a p-value between {above} and {level}")


def names(verdicts: list[Verdict]) -> list[str]:
    return [each.name for each in verdicts]


def test_a_regression_leaves_more_of_the_level_to_cells_before_it() -> None:
    weaker = between(0.005, 0.01 / 3)
    verdicts, comparisons = judged(weaker, 0.1, 0.01)
    assert names(verdicts) == ["inconclusive", "regressed", "inconclusive"]
    final = settled(verdicts, comparisons)
    assert names(final) == ["regressed", "regressed", "inconclusive"]
    assert final[0].ratio
    assert final[0].ratio.low > 1.01
    assert final[1:] == verdicts[1:]


def test_one_upgraded_cell_may_upgrade_the_next() -> None:
    verdicts, comparisons = judged(between(0.01, 0.005), between(0.005, 0.01 / 3), 0.1)
    assert names(settled(verdicts, comparisons)) == ["regressed"] * 3
    assert names(settled(verdicts[:2], comparisons)) == ["inconclusive"] * 2


def test_a_cell_with_a_problem_does_not_stand_in_the_way() -> None:
    verdicts, comparisons = judged(0.2, between(0.005, 0.01 / 3), 0.1)
    broken = verdicts[0].case
    comparisons[broken] = replace(comparisons[broken], problem="no memory")
    verdicts[0] = verdict(broken, comparisons[broken], RULE)
    assert names(settled(verdicts, comparisons)) == ["inconclusive", "regressed", "regressed"]


def test_two_launches_are_never_enough() -> None:
    verdicts, comparisons = judged(0.1, 0.1, launches=2)
    assert names(settled(verdicts, comparisons, Rule(cells=2, level=0.5, priors=PRIORS))) == ["inconclusive"] * 2


def test_what_is_not_inconclusive_stays() -> None:
    verdicts, comparisons = judged(0.0, 0.1)
    verdicts.append(Verdict(case=case("openvino", 9), name="new"))
    assert settled(verdicts, comparisons) == verdicts
