"""Which arms are put under load, at which rates, and what comes of it."""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from synthetic import case

from pytest_ngraph.artifact import Target
from pytest_ngraph.bench.processes.process import WorkerFailed
from pytest_ngraph.bench.progress import Silent
from pytest_ngraph.bench.rounds.load import put_under_load
from pytest_ngraph.case import Case
from pytest_ngraph.load import OWN_CORE, SHARES_CORES, Load, Rate, simulate
from pytest_ngraph.machine.machine import this_machine
from pytest_ngraph.metrics.load import FEWEST_REQUESTS, highest_rate
from pytest_ngraph.record import Failure
from pytest_ngraph.settings import Settings
from pytest_ngraph.stats import Estimate

SERVED = case(objective="serving")


@dataclass(eq=False)
class SimulatedArm:
    """Calls take `seconds_per_call`, give or take a tenth, in simulated time.

    Attributes:
        slower: by how much longer a call takes under load.
        fails_at: the rate at which its worker dies; None for none.
    """

    case: Case
    seconds_per_call: float
    has_single_calls: bool = True
    is_compared: bool = False
    target: Target = field(default_factory=lambda: Target(cores=this_machine().cores))
    load: Load | None = None
    asked: list[dict[str, Any]] = field(default_factory=list)
    slower: float = 1.0
    fails_at: int | None = None

    def note(self, *, load: Load) -> None:
        self.load = load

    def serve(self, per_s: float, requests: int, **how: Any) -> Rate:
        if len(self.asked) == self.fails_at:
            raise WorkerFailed(Failure(phase="measure", kind="crashed", message="crashed with SIGSEGV"))
        self.asked.append(how | {"per_s": per_s, "requests": requests})
        draw = random.Random(0)
        batching = {name: how[name] for name in ("seed", "batch", "batch_wait_s")}
        call_s = self.slower * self.seconds_per_call
        return simulate(per_s, requests, lambda: call_s * draw.uniform(0.9, 1.1), **batching)


def loaded(arm: SimulatedArm, **settings: Any) -> Load | None:
    put_under_load([arm], Settings(**settings), Silent())
    return arm.load


def rate_of(arm: SimulatedArm, **settings: Any) -> Estimate:
    load = loaded(arm, **settings)
    assert load is not None
    estimate = highest_rate(load)
    assert isinstance(estimate, Estimate), estimate
    return estimate


def test_the_highest_rate_is_found_around_the_guess() -> None:
    arm = SimulatedArm(SERVED, 0.01)
    assert rate_of(arm).value == pytest.approx(77, rel=0.05)
    assert {each["requests"] for each in arm.asked} == {int(120 * arm.asked[0]["per_s"] / 6)}
    assert len({each["seed"] for each in arm.asked}) == len(arm.asked), "a schedule of its own for each rate"


def test_several_requests_of_a_call_raise_it() -> None:
    batched = SimulatedArm(case(objective="serving", batch_size=8), 0.01)
    assert rate_of(batched).value > 5 * 77
    assert {each["batch"] for each in batched.asked} == {8}


def test_only_the_objective_serving_is_put_under_load_and_only_calls_that_run_alone() -> None:
    assert loaded(SimulatedArm(case(), 0.01)) is None
    assert loaded(SimulatedArm(SERVED, 0.01, has_single_calls=False)) is None
    assert loaded(SimulatedArm(SERVED, 0.01, is_compared=True)) is None


def test_a_model_that_is_too_slow_for_the_limit_is_not_asked() -> None:
    arm = SimulatedArm(SERVED, 0.2)
    assert rate_of(arm) == (0, 0, 0)
    assert not arm.asked


def test_too_little_time_is_a_reason_that_names_what_is_enough() -> None:
    arm = SimulatedArm(SERVED, 0.01)
    load = loaded(arm, load_s=10)
    assert load is not None
    assert load.problem.startswith("too few requests fit into the time; --ngraph-load=")
    assert not load.failed
    enough = float(load.problem.split("=")[1].split()[0])
    assert rate_of(SimulatedArm(SERVED, 0.01), load_s=enough).value > 70


def test_whether_the_generator_has_a_core_is_noted() -> None:
    cores = this_machine().cores
    sharing = SimulatedArm(SERVED, 0.01)
    load = loaded(sharing)
    assert load is not None
    assert load.generator == SHARES_CORES
    assert {each["own_core"] for each in sharing.asked} == {False}
    arm = SimulatedArm(SERVED, 0.01, target=Target(cores=(max(cores) + 1,)))
    load = loaded(arm)
    assert load is not None
    assert load.generator == OWN_CORE
    assert {(tuple(each["cores"]), each["own_core"]) for each in arm.asked} == {(cores[:1], True)}


def test_a_load_that_fails_has_a_reason_and_leaves_the_rounds_alone() -> None:
    load = Load(limit_s=0.1, call_s=0.01, generator=SHARES_CORES, problem="crashed with SIGSEGV", failed=True)
    arm = SimulatedArm(SERVED, 0.01, fails_at=0)
    found = loaded(arm)
    assert found is not None
    assert "crashed with SIGSEGV" in found.problem
    assert replace(found, problem=load.problem) == load


def test_rates_measured_before_a_failure_are_kept() -> None:
    load = loaded(SimulatedArm(SERVED, 0.01, fails_at=2))
    assert load is not None
    assert len(load.rates) == 2
    assert isinstance(highest_rate(load), Estimate)


def test_calls_of_which_some_exceed_what_the_limit_leaves_have_a_rate_of_zero() -> None:
    arm = SimulatedArm(case(objective="serving", batch_size=8), 0.0047, slower=1.06)
    assert rate_of(arm, load_p99_s=0.010, batch_wait_s=0.005) == (0, 0, 0)
    assert len(arm.asked) == 4
    assert min(each["per_s"] for each in arm.asked) > 500


def test_a_model_that_is_much_slower_under_load_takes_no_more_time() -> None:
    arm = SimulatedArm(SERVED, 0.001, slower=80)
    assert rate_of(arm, load_s=60).value < 10
    assert sum(each["requests"] / each["per_s"] for each in arm.asked) < 2 * 60
    assert {each["requests"] for each in arm.asked[1:]} == {FEWEST_REQUESTS}
