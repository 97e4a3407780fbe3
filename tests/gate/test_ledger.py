from __future__ import annotations

from synthetic import case

from pytest_ngraph.case import Case
from pytest_ngraph.gate import Rule, Verdict
from pytest_ngraph.gate.ledger import Ledger


def judge(of: Case, rule: Rule) -> Verdict:
    """Return regressed if the remaining level is at least a hundredth of the batch size."""
    p = of.batch_size / 100
    return Verdict(case=of, name="regressed" if p <= rule.corrected_level else "inconclusive", p=p)


def test_what_is_reserved_has_a_part_in_the_level() -> None:
    ledger = Ledger(Rule(), judge)
    ledger.reserve(5)
    ledger.share_among(3)
    assert ledger.rule.cells == 8


def test_each_rejection_leaves_more_to_those_that_come_and_to_those_before() -> None:
    ledger = Ledger(Rule(level=0.06), judge)
    ledger.share_among(3)
    found = [ledger.enter(case("tvm", size)).name for size in (3, 2, 6)]
    assert found == ["inconclusive", "regressed", "inconclusive"]
    ledger.settle()
    assert {each.name for each in ledger.verdicts.values()} == {"regressed"}


def test_what_is_judged_twice_is_one_rejection() -> None:
    """Two tests may ask for one case."""
    ledger = Ledger(Rule(level=0.06), judge)
    ledger.share_among(3)
    assert [ledger.enter(case("tvm", 2)).name for _ in range(2)] == ["regressed"] * 2
    assert ledger.rule.rejected == 1
