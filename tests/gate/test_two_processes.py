"""Base and head in a process each: a wider margin. A case compared in two ways: one verdict."""

from __future__ import annotations

import dataclasses
from collections import Counter

import numpy as np
import pytest
from launching import PRIORS, Machine, exact
from synthetic import case

from pytest_ngraph.comparison import Comparison, Launch
from pytest_ngraph.gate import Rule, Verdict, is_enough, verdict

CASE = case("identity", 8)
RULE = Rule(priors=PRIORS)
MODULES = Comparison(against="main", placement="apart", subject="module")


def launches(log_ratio: float, count: int = 5) -> tuple[Launch, ...]:
    return tuple(exact(log_ratio) for _ in range(count))


def both(program: float, module: float, rule: Rule = RULE) -> Verdict:
    """Return the verdict on a case whose program and module changed by these log ratios."""
    modules = dataclasses.replace(MODULES, share=0.5, launches=launches(module))
    programs = Comparison(against="main", subject="program", share=0.5, launches=launches(program), module=modules)
    return verdict(CASE, programs, rule)


def test_the_margin_is_widened_by_what_processes_differ() -> None:
    assert RULE.applied_to(MODULES).margin == pytest.approx(0.01 + 2 * 0.016)
    assert RULE.applied_to(Comparison()) == RULE
    found = verdict(CASE, dataclasses.replace(MODULES, launches=launches(0.2)), RULE)
    assert (found.name, found.compared) == ("regressed", "module")
    assert found.margin == pytest.approx(0.042)
    assert found.text.startswith("regressed: the module is 22.1 % slower than main (")
    assert found.text.endswith(", 5 launches, 0 of 25 rounds disturbed, margin 4.2 %")
    assert found.to_dict()["compared"] == "module"


def test_a_changed_compiler_is_said_to_be_what_differs() -> None:
    comparison = dataclasses.replace(MODULES, subject="compiler", launches=launches(-0.2))
    text = verdict(CASE, comparison, RULE).text
    assert text.startswith("improved: with each side's own compiler, 18.1 % faster than main (")


@pytest.mark.parametrize(
    ("program", "module", "name", "about"),
    [
        (0.05, 0.05, "regressed", "program"),
        (0.0, 0.2, "regressed", "module"),
        (-0.05, 0.2, "regressed", "module"),
        (0.0, 0.0, "unchanged", "program"),
        (-0.05, 0.0, "improved", "program"),
        (-0.05, 0.042, "inconclusive", "module"),
        (0.01, 0.0, "inconclusive", "program"),
    ],
)
def test_the_worse_of_two_verdicts_counts_and_says_what_it_is_about(
    program: float, module: float, name: str, about: str
) -> None:
    found = both(program, module)
    assert (found.name, found.compared) == (name, about)


@pytest.mark.parametrize("program", [(), launches(0.01), launches(0.0)])
def test_a_base_that_is_broken_in_one_of_two_ways_is_not_noise(program: tuple[Launch, ...]) -> None:
    """Also where noise left the other way undecided."""
    modules = dataclasses.replace(MODULES, share=0.5, problem="the base does not run: crashed", broken="crashed")
    programs = Comparison(against="main", subject="program", share=0.5, launches=program, module=modules)
    found = verdict(CASE, programs, RULE)
    assert (found.name, found.compared, found.broken) == ("inconclusive", "module", True)


def test_two_comparisons_share_the_level_of_a_case() -> None:
    tails = {share: _tail(share) for share in (0.5, 1.0)}
    assert tails[0.5] == pytest.approx(tails[1.0] / 2)


def _tail(share: float) -> float:
    found = verdict(CASE, dataclasses.replace(MODULES, share=share, launches=launches(0.3)), RULE)
    assert found.confidence is not None
    return 1 - found.confidence


def gated(slowdown: float, seed: int, spread: float) -> tuple[str, int]:
    """Return the verdict and the number of launches of a module measured in two processes."""
    comparison = MODULES
    for launch in Machine(random=np.random.default_rng(seed), spread=spread).launches(slowdown):
        comparison = dataclasses.replace(comparison, launches=(*comparison.launches, launch))
        if is_enough(comparison, Rule()):
            break
    return verdict(CASE, comparison, Rule()).name, len(comparison.launches)


@pytest.mark.parametrize("spread", [0.004, 0.016, 0.03])
def test_equal_code_in_two_processes_is_not_called_regressed(spread: float) -> None:
    found = [gated(0.0, seed, spread) for seed in range(60)]
    names = Counter(name for name, _ in found)
    assert names["regressed"] == 0
    assert names["unchanged"] >= 50
    assert sum(count for _, count in found) / len(found) < 3, "most are decided by one or two launches"


def test_a_module_that_is_much_slower_is_found() -> None:
    names = Counter(gated(0.15, seed, 0.016)[0] for seed in range(60))
    assert names["regressed"] >= 55
