"""The ratio that a history keeps of a comparison."""

from __future__ import annotations

import dataclasses
import math

import nights
import pytest

from pytest_ngraph.comparison import Comparison
from pytest_ngraph.history.summary import ratio_of


def percent(comparison: Comparison) -> float | None:
    found = ratio_of(comparison)
    return None if found is None else 100 * math.expm1(found.log)


def test_where_programs_and_modules_are_compared_the_modules_ratio_counts() -> None:
    """A slowdown in Python is in the module only, whose ratio the series had as long as the graphs were equal."""
    module = dataclasses.replace(nights.compared(1.2), subject="module", placement="apart", share=0.5)
    program = dataclasses.replace(nights.compared(1.0), subject="program", share=0.5)
    assert percent(dataclasses.replace(program, module=module)) == pytest.approx(20, abs=0.3)
    unmeasured = dataclasses.replace(module, launches=())
    assert percent(dataclasses.replace(program, module=unmeasured)) is None, "the program's is another ratio"
    assert percent(dataclasses.replace(program, module=module, lost="it does not build")) is None


def test_where_the_compiler_searches_only_fresh_launches_count() -> None:
    """The first launch has the searches of the cache, which every night finds there again."""
    lucky, fresh = nights.compared(0.8).launches[0], nights.compared(1.0).launches[1]
    found = dataclasses.replace(nights.compared(1.0), launches=(lucky, fresh, fresh, fresh))
    assert percent(found) == pytest.approx(-5.4, abs=0.3)
    assert percent(dataclasses.replace(found, searched=True)) == pytest.approx(0, abs=0.1)
    assert percent(dataclasses.replace(found, searched=True, launches=(lucky,))) is None
