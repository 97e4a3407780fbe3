"""Forty races in which the best is planted at a random arm: the pick is within 2 % of it, or said to be not sure."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Sequence

import pytest
from racing import MadeUpAxes, Simulated
from synthetic import noisy

from pytest_ngraph.advise.answer import answer
from pytest_ngraph.advise.limits import Limits
from pytest_ngraph.advise.race import Race
from pytest_ngraph.case import Case
from pytest_ngraph.machine.devices import Device
from pytest_ngraph.metrics.between import IN_GENERAL, PAIR
from pytest_ngraph.record import Agreement, Record

RACES = 40
NEAR = 0.02
OPTIONS = {
    "identity": (),
    "executorch": (),
    "inductor": ("inductor:mode=max-autotune",),
    "onnxruntime": ("onnxruntime:rewrite=true", "onnxruntime:optimization=extended", "onnxruntime:opset=23"),
    "openvino": (),
    "torchscript": ("torchscript:optimize=false",),
    "tvm": ("tvm:trials=64",),
}
ARMS = [arm for name, options in OPTIONS.items() for arm in (name, *options)]
MOST_GAIN = 1.8
"""A compiler takes at most so many times as long as the best of its options. One that takes more than twice as long as
the fastest has none of them tried, and the answer lists them."""
SPREAD = 0.01
"""Deviation of a round's time."""
LARGER = 8


class PlantedAxes(MadeUpAxes):
    """Axes whose compilers have these options."""

    def options_of(self, compiler: str) -> dict[str, float]:
        return dict.fromkeys(OPTIONS.get(compiler, ()), 1.0)


class Planted(Simulated):
    """Measures in processes that differ, as those of machines in general, for rounds that scatter.

    Args:
        larger: by how much each arm's time per sample differs at the larger batch size, as a factor.
    """

    def __init__(self, seconds: dict[str, float], larger: dict[str, float], draws: random.Random) -> None:
        super().__init__(seconds, case_s=3.0)
        self._larger = larger
        self._draws = draws
        self._processes = {arm: 1 + draws.gauss(0, PAIR.deviation / 2**0.5) for arm in seconds}

    def true(self, case: Case) -> float:
        """Return the seconds per sample of a candidate, by its code."""
        return self._seconds[case.compiler] * (self._larger[case.compiler] if case.batch_size == LARGER else 1.0)

    def _record(self, case: Case, is_wanted: bool) -> Record:
        rounds = 6 if self.budgets[-1] <= 0.5 else 12 + round(4 * self.budgets[-1])
        seconds = case.batch_size * self.true(case) * self._processes[case.compiler]
        agreement = Agreement(error=1e-6, tolerance=1e-4)
        seed = self._draws.randrange(10**9)
        return noisy(case, seconds, SPREAD, rounds, seed, compile_s=1.0, load_s=0.5, agreement=agreement)


@dataclasses.dataclass(frozen=True)
class Found:
    """What a race came to: by how much more time the pick takes than the best, and whether it was called sure."""

    best: str
    behind: float
    is_sure: bool


def planted(draws: random.Random) -> tuple[dict[str, float], str]:
    """Return the seconds of each arm, and the one that is the fastest."""
    best = draws.choice(ARMS)
    seconds: dict[str, float] = {}
    for name, options in OPTIONS.items():
        seconds[name] = 0.01 * draws.uniform(1.0, 2.5)
        seconds |= {option: seconds[name] * draws.uniform(0.9, 1.3) for option in options}
    own = best.partition(":")[0]
    seconds[best] = min(each for arm, each in seconds.items() if arm not in (best, own)) * draws.uniform(0.9, 1.0)
    if best != own:
        seconds[own] = seconds[best] * draws.uniform(1.0, MOST_GAIN)
    return seconds, best


def raced(number: int, batch_sizes: Sequence[int]) -> Found:
    """Race compilers whose best arm is drawn, within five minutes in which everything can be measured."""
    draws = random.Random(number)
    seconds, best = planted(draws)
    larger = {arm: draws.uniform(0.9, 1.1) if len(batch_sizes) > 1 else 1.0 for arm in seconds}
    measure = Planted(seconds, larger, draws)
    axes = PlantedAxes(
        case=Case(workload="net", compiler="identity", batch_size=1),
        compilers=tuple(OPTIONS),
        batch_sizes=batch_sizes,
        precisions=("fp32",),
        devices=(Device(name="cpu"),),
        objective="latency",
    )
    race = Race(axes, Limits(), measure, 300.0, clock=measure.clock)
    found = answer(race.run(), race.named, Limits(), IN_GENERAL, indifference=NEAR)
    assert found.pick is not None
    every = [measure.true(dataclasses.replace(cell, compiler=arm)) for cell in axes.cells for arm in ARMS]
    return Found(best, measure.true(found.pick.case) / min(every) - 1, found.is_sure)


@pytest.mark.parametrize("batch_sizes", [(1,), (1, LARGER)], ids=["one batch size", "two batch sizes"])
def test_the_pick_is_near_the_best_or_not_sure(batch_sizes: tuple[int, ...]) -> None:
    found = [raced(number, batch_sizes) for number in range(RACES)]
    assert len({each.best for each in found}) >= len(ARMS) - 2, "the best is planted at almost every arm"
    assert sum(each.behind <= NEAR or not each.is_sure for each in found) >= 0.95 * RACES
    assert sum(each.behind <= NEAR for each in found) >= 0.95 * RACES, found
    assert sum(each.is_sure for each in found) >= RACES / 10, "it does not say so of all"
