from __future__ import annotations

import math

import numpy as np
import pytest
from synthetic import case, measured

from pytest_ngraph.comparison import CallLaunch, Comparison
from pytest_ngraph.gate import Threshold, check
from pytest_ngraph.gate.changes import Uncompared
from pytest_ngraph.gate.check import need_calls
from pytest_ngraph.gate.limits import Limits
from pytest_ngraph.gate.tails import percentile_of_launches, percentile_of_runs
from pytest_ngraph.metrics import compute
from pytest_ngraph.record import Record

CASE = case("openvino", 8)
TENTH = math.log(1.1)


def calls(seed: int, count: int = 1000, every: int = 0) -> tuple[float, ...]:
    """Return calls of about a millisecond; given `every`, each so many-th takes ten times as long."""
    times = 0.001 * np.exp(np.random.default_rng(seed).normal(0, 0.02, count))
    if every:
        times[every - 1 :: every] *= 10
    return tuple(times.tolist())


def compared(every: int = 0, count: int = 1000, **fields: object) -> Record:
    """Return a record with three launches, in which every so many-th call of the head is slow."""
    launches = [CallLaunch(base=calls(seed, count), head=calls(seed + 10, count, every)) for seed in range(3)]
    given = {"against": "main", "calls": tuple(launches), **fields}
    return measured(CASE, 0.001, comparison=Comparison(**given))  # type: ignore[arg-type]


def test_a_slow_minority_is_worse_in_p99_only() -> None:
    changes = {name: percentile_of_launches(compared(every=50), name) for name in ("p50_s", "p90_s", "p99_s")}
    assert changes["p99_s"].head == pytest.approx(0.01, rel=0.05)
    assert changes["p99_s"].change.mean == pytest.approx(math.log(10), rel=0.05)
    assert changes["p99_s"].change.p_above(TENTH) < 1e-4
    for name in ("p50_s", "p90_s"):
        assert abs(changes[name].change.mean) < 0.01
        assert changes[name].change.high(0.025) < TENTH


def test_a_minority_as_large_as_the_share_is_not_known_to_be_worse() -> None:
    """Every 90th call: beside p99, on its slow side by chance."""
    found = percentile_of_launches(compared(every=90), "p99_s").change
    assert found.mean > 1
    assert found.p_above(TENTH) > 0.01


def test_equal_code_is_unchanged() -> None:
    found = percentile_of_launches(compared(), "p99_s").change
    assert found.high(0.025) < TENTH


@pytest.mark.parametrize(
    ("record", "name", "said"),
    [
        (compared(same=True), "unchanged", "same graph, weights and inputs, nothing to measure"),
        (compared(new=True), "new", "main does not have it"),
        (compared(calls=()), "inconclusive", "single calls were not timed: --ngraph-tails times them"),
        (compared(calls_problem="launching both failed"), "inconclusive", "launching both failed"),
        (compared(count=100), "inconclusive", "p99 takes 368 calls, and 300 were timed: --ngraph-tails=1"),
    ],
)
def test_what_was_not_compared_says_why(record: Record, name: str, said: str) -> None:
    with pytest.raises(Uncompared, match=said) as found:
        percentile_of_launches(record, "p99_s")
    assert found.value.name == name


def test_against_stored_runs_the_percentiles_of_the_records_are_compared() -> None:
    head = measured(CASE, 0.001, calls=calls(7, every=20))
    runs = [measured(CASE, 0.001, calls=calls(seed)) for seed in range(3)]
    found = percentile_of_runs(head, [*runs, measured(CASE, 0.001)], "p99_s")
    assert found.head == pytest.approx(0.01, rel=0.05)
    assert found.change.p_above(TENTH) < 0.001
    assert found.change.launches == 3
    with pytest.raises(Uncompared, match="single calls were not timed in the baseline") as missing:
        percentile_of_runs(head, [measured(CASE, 0.001)], "p99_s")
    assert missing.value.name == "new"
    with pytest.raises(Uncompared, match="--ngraph-tails times them"):
        percentile_of_runs(measured(CASE, 0.001), runs, "p99_s")


def test_a_threshold_needs_the_calls_of_the_cases_that_it_selects() -> None:
    other = case("tvm", 1)
    given = [(Threshold.parse("p99>20ms if compiler=tvm"), None), (Threshold.parse("p50:5%"), CASE)]
    assert need_calls(given, [CASE, other]) == {CASE, other}
    assert need_calls(given[:1], [CASE, other]) == {other}
    assert need_calls([(Threshold.parse("latency>20ms"), None)], [CASE, other]) == set()


def test_an_interval_without_an_upper_end_can_still_breach() -> None:
    """The slowest of these calls is not surely above p99, but p99 is surely above 5 ms."""
    metrics = compute([measured(CASE, 0.001, calls=(0.01,) * 400)])
    p99 = metrics[CASE]["p99_s"]
    assert p99.estimate
    assert p99.estimate.high == math.inf
    evidence = Limits(metrics).evidence(p99, 0.005)
    assert 0.009 < evidence.interval.low < 0.01
    assert evidence.interval.high == math.inf
    (found,) = check([Threshold.parse("p99>5ms")], metrics)
    assert found.outcome == "breached"
    assert "has p99_s 10.0 ms [9." in found.text
