from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest

from pytest_ngraph.history.levels import Chain
from pytest_ngraph.history.steps import find

ERROR = 0.004


def nights(*levels: tuple[int, float], seed: int = 0, error: float = ERROR, spread: float = 1.0) -> Chain:
    """Return nights at these levels, each for a number of nights."""
    random = np.random.default_rng(seed)
    values = np.concatenate([np.full(count, level) for count, level in levels])
    return Chain(values + random.normal(0, error * spread, len(values)), np.full(len(values), error))


def test_a_step_is_found_with_its_place_and_its_size() -> None:
    ((step,),) = find([nights((100, 0.0), (50, 0.02))])
    assert (step.earliest, step.place, step.latest) == (100, 100, 100)
    assert step.change.low < 0.02 < step.change.high
    assert step.change.width < 0.006
    assert step.p < 0.01


def test_several_steps_are_found_in_order() -> None:
    (found,) = find([nights((60, 0.0), (60, 0.03), (60, 0.01), (60, 0.05))])
    assert [step.place for step in found] == [60, 120, 180]
    assert [round(step.change.value, 2) for step in found] == [0.03, -0.02, 0.04]


def test_a_slowdown_that_was_mended_is_two_steps() -> None:
    (found,) = find([nights((200, 0.0), (8, 0.03), (200, 0.0))])
    assert [step.place for step in found] == [200, 208]


def test_equal_nights_have_no_step() -> None:
    assert not any(find([nights((200, 0.0), seed=seed) for seed in range(200)]))


def test_equal_programs_have_no_step_until_one_changes() -> None:
    values = np.zeros(40)
    assert find([Chain(values, np.zeros(40))]) == [[]]
    values[30:] = 0.01
    ((step,),) = find([Chain(values, np.where(values > 0, ERROR, 0.0))])
    assert step.place == 30


def test_nights_that_spread_more_than_their_errors_say_raise_no_alarm() -> None:
    assert sum(map(bool, find([nights((120, 0.0), seed=seed, spread=3.0) for seed in range(200)]))) <= 1


def test_seconds_in_ticks_of_a_clock_raise_no_alarm() -> None:
    random = np.random.default_rng(0)
    ticks = np.clip(np.round(random.normal(1, 0.02, (200, 40)) / 0.05), 19, 21)
    assert not any(find([Chain(np.log(own), None) for own in ticks]))
    values = np.repeat([0.0, 0.05], 20)
    ((step,),) = find([Chain(values, None)])
    assert step.place == 20


def test_one_bad_night_is_no_step() -> None:
    for place in (0, 60, 119):
        chain = nights((120, 0.0))
        chain.values[place] += 0.5
        assert find([chain]) == [[]]


def test_more_series_need_more_evidence() -> None:
    chain = nights((100, 0.0), (4, 0.011), seed=3)
    quiet = [nights((104, 0.0), seed=seed) for seed in range(10, 410)]
    assert find([chain])[0]
    assert not find([chain, *quiet])[0]
    strong = nights((100, 0.0), (6, 0.03), seed=3)
    assert find([strong, *quiet])[0]


def test_the_level_is_shared_among_the_series() -> None:
    trials = 300
    alarms = sum(
        any(find([nights((50, 0.0), seed=seed * 7 + i) for i in range(7)], level=0.2)) for seed in range(trials)
    )
    assert alarms <= 0.2 * trials


def test_the_place_of_a_small_step_is_a_range_that_has_it() -> None:
    found = find([nights((100, 0.0), (100, 0.006), seed=seed) for seed in range(50)])
    steps = [each[0] for each in found if each]
    assert len(steps) > 40
    assert any(step.latest > step.earliest for step in steps)
    assert sum(step.earliest <= 100 <= step.latest for step in steps) >= 0.9 * len(steps)
    assert sum(step.change.low <= 0.006 <= step.change.high for step in steps) >= 0.85 * len(steps)


@pytest.mark.parametrize("count", [0, 1, 2, 3, 4])
def test_few_nights_have_no_step(count: int) -> None:
    assert find([Chain(np.zeros(count), np.full(count, ERROR))]) == [[]]


def after(link: int) -> npt.NDArray[np.bool_]:
    """Return which of 120 nights lie beyond a link."""
    return np.arange(120) >= link


def test_a_link_is_as_uncertain_as_it_was_measured() -> None:
    chain = nights((60, 0.0), (60, 0.02))
    linked = Chain(chain.values, chain.errors, links=(after(60),), link_errors=(0.001,))
    ((step,),) = find([linked])
    assert step.change.width > find([chain])[0][0].change.width
    for error in (0.02, math.inf):  # the step lies within the link's own uncertainty
        assert find([Chain(chain.values, chain.errors, links=(after(60),), link_errors=(error,))]) == [[]]


def test_a_step_on_one_side_of_an_unknown_link_is_found() -> None:
    chain = nights((60, 0.0), (60, 0.02))
    ((step,),) = find([Chain(chain.values, chain.errors, links=(after(30),), link_errors=(math.inf,))])
    assert step.place == 60


def test_errors_that_are_not_known_come_from_the_nights() -> None:
    chain = nights((100, 0.0), (100, 0.1), error=0.02)
    ((step,),) = find([Chain(chain.values, None)])
    assert step.place == 100
    assert find([Chain(np.zeros(50), None)]) == [[]]
