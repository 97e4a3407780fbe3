"""Compilers that search: their luck is part of the spread between launches."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import plain
import pytest
from two_trees import Decided

from pytest_ngraph.artifact import Target
from pytest_ngraph.bench.bench import Bench
from pytest_ngraph.bench.beside_base.base import Base
from pytest_ngraph.bench.processes.home import Home
from pytest_ngraph.case import Case
from pytest_ngraph.comparison import Comparison
from pytest_ngraph.gate import Rule, verdict
from pytest_ngraph.gate.decision import ByRule
from pytest_ngraph.gate.launches import effect
from pytest_ngraph.settings import Settings
from pytest_ngraph.worker.cache import Cache

Compare = Callable[..., Comparison]
RULE = Rule()


@pytest.fixture
def compare(light_workers: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Compare:
    """Compares a workload with itself under a compiler of `lucky.py`; base and head differ in their numbers only."""
    head, tree = tmp_path / "head", tmp_path / "base"
    for folder, numbers in ((head, "1 2 3"), (tree, "4 5 6")):
        folder.mkdir()
        plain.put_into(folder)
        shutil.copy(plain.USERS / "lucky.py", folder)
        (folder / "numbers.txt").write_text(numbers)
    monkeypatch.syspath_prepend(str(head))
    monkeypatch.setenv("LUCKY", str(tmp_path / "compiles"))

    def run(compiler: str, *, calibrates: bool = False) -> Comparison:
        case = Case(workload="plain", compiler=compiler, batch_size=2)
        place = head if calibrates else tree
        base = Base(
            name="main",
            identity="main",
            home=Home(folder=place, path=[str(place), *(entry for entry in sys.path if entry != str(head))]),
            instead_of=None,
            case_of=lambda case: case,
            at_base=lambda case: case,
            decides=Decided(3) if calibrates else ByRule(RULE),
            measures_equals=calibrates,
        )
        bench = Bench(Settings(launch_s=0.2, warmup_s=0.1, cache=tmp_path / "cache"), lambda case: Target(), base=base)
        try:
            (record,) = bench.run([case])
        finally:
            bench.close()
        assert record.outcome == "measured", record.failure
        assert record.comparison is not None
        return record.comparison

    return run


def draws(folder: Path) -> list[str]:
    return (folder / "compiles").read_text().split()


def test_luck_that_every_launch_repeats_is_called_regressed(compare: Compare, tmp_path: Path) -> None:
    """What happens under a compiler that searches and does not say so."""
    comparison = compare("lucky:Settled")
    assert verdict(Case(workload="plain", compiler="lucky:Settled", batch_size=2), comparison, RULE).name == "regressed"
    assert draws(tmp_path) == ["0", "0"], "each arm is compiled once, and every launch loads the same two"


def test_luck_that_each_launch_draws_again_is_part_of_the_spread(compare: Compare, tmp_path: Path) -> None:
    comparison = compare("lucky:Lucky")
    assert comparison.searched
    found = verdict(Case(workload="plain", compiler="lucky:Lucky", batch_size=2), comparison, RULE)
    assert found.name == "inconclusive", found
    fresh = [effect(launch).log_ratio for launch in comparison.launches if launch.fresh]
    assert min(fresh) < -0.2 < 0.2 < max(fresh), "base and head were lucky in turn"
    compiles = draws(tmp_path)
    assert compiles[:2] == ["0", "0"], "the screen may use what was compiled before"
    assert len(compiles) == 2 + 2 * len(fresh), "once for each arm and launch: the second build is loaded"
    assert len({*compiles[2:]}) == 2 * len(fresh), "no draw comes twice"
    assert len(Cache(tmp_path / "cache").entries()) == 2, "what no launch will load again is not kept"


def test_calibrating_compiles_both_arms_for_themselves(compare: Compare, tmp_path: Path) -> None:
    comparison = compare("lucky:Lucky", calibrates=True)
    assert len({*draws(tmp_path)} - {"0"}) == 2 * len(comparison.launches) == 6
    assert all(abs(effect(launch).log_ratio) > 0.2 for launch in comparison.launches)
