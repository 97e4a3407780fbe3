"""Fixtures that compare cases of two folders of code."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable
from pathlib import Path

import plain
import pytest
from two_trees import CASE, NETWORK, SETTINGS, Compare, Decided

from pytest_ngraph.artifact import Target
from pytest_ngraph.bench.asked import NOTHING, Asked
from pytest_ngraph.bench.bench import Bench
from pytest_ngraph.bench.beside_base.base import Base
from pytest_ngraph.bench.processes.home import Home
from pytest_ngraph.case import Case
from pytest_ngraph.comparison import Comparison
from pytest_ngraph.record import Record


@pytest.fixture
def compare(forked_workers: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Compare:
    """Compares cases whose head has layers of width 64 with a base of another width."""
    head, tree = tmp_path / "head", tmp_path / "base"
    for folder, width in ((head, 64), (tree, 256)):
        folder.mkdir()
        (folder / "nets.py").write_text(NETWORK.format(width=width))
    monkeypatch.syspath_prepend(str(head))

    def run(
        *cases: Case,
        path: Path = tree,
        launches: int = 1,
        regressed: Callable[[Comparison], bool] = lambda comparison: False,
        asked: Asked = NOTHING,
        **changes: object,
    ) -> list[Record]:
        base = Base(
            name="main at 1a2b3c4",
            identity="1a2b3c4",
            home=Home(folder=tree, path=[str(path), *(entry for entry in sys.path if entry != str(head))]),
            instead_of=(tree, head),
            case_of=lambda case: case,
            at_base=lambda case: case,
            decides=Decided(launches, regressed),
        )
        changed = dataclasses.replace(base, **changes)  # type: ignore[arg-type]
        bench = Bench(SETTINGS, lambda case: Target(), base=changed, asked=asked)
        try:
            return list(bench.run(cases or [CASE]))
        finally:
            bench.close()

    return run


@pytest.fixture
def crowd(compare: Compare, light_workers: None, tmp_path: Path) -> Compare:
    """Compares a workload that needs no framework, with other numbers in the base, under compilers of `faulty.py`."""
    for folder, numbers in (("head", "1 2 3"), ("base", "4 5 6")):
        plain.put_into(tmp_path / folder)
        (tmp_path / folder / "numbers.txt").write_text(numbers)

    def run(
        compiler: str,
        head: str = "",
        launches: int = 1,
        *,
        tails: bool = False,
        serving: bool = False,
        **changes: object,
    ) -> list[Record]:
        base = dataclasses.replace(CASE, workload="plain", compiler=compiler)
        case = dataclasses.replace(base, compiler=head or compiler)
        calls, served = {case} if tails else set(), {case} if serving else set()
        asked = Asked(calls=calls, tails=calls, served=served)
        return compare(case, case_of=lambda case: base, launches=launches, asked=asked, **changes)

    return run
