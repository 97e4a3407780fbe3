from __future__ import annotations

import math

import numpy as np
import pytest
from synthetic import case, failed, measured

from pytest_ngraph.metrics import compute
from pytest_ngraph.metrics.percentiles import PERCENTILES, fewest_calls, intervals, log_error, values, widening
from pytest_ngraph.stats import Floats

CASE = case("openvino", 8)


def calls(count: int, every: int = 50, slow: float = 10.0) -> list[float]:
    """Return calls of about a millisecond, of which every so many take as many times as long."""
    times = 0.001 * np.exp(np.random.default_rng(0).normal(0, 0.02, count))
    times[every - 1 :: every] *= slow
    found: list[float] = times.tolist()
    return found


def test_what_every_fiftieth_call_does_shows_in_p99_and_not_in_p50() -> None:
    own = compute([measured(CASE, 0.001, calls=tuple(calls(1000)))])[CASE]
    p50, p99 = own["p50_s"].estimate, own["p99_s"].estimate
    assert p50
    assert p50.value == pytest.approx(0.001, rel=0.01)
    assert p50.high < 0.0011
    assert p99
    assert p99.value == pytest.approx(0.01, rel=0.05)
    assert p99.low > 0.009
    assert math.isfinite(p99.high)


def test_an_interval_lies_between_order_statistics() -> None:
    """Their ranks follow from the binomial distribution: in R, qbinom(c(0.025, 0.975), 1000, p) + c(0, 1)."""
    ordered = np.arange(1.0, 1001.0)
    shuffled = np.random.default_rng(1).permutation(ordered)[None, :]
    for share, low, high in ((0.50, 469, 532), (0.99, 983, 997)):
        found = intervals(shuffled, share)
        width = float(widening(shuffled, found.values, share)[0])
        middle = 1000 * share
        assert found.lows[0] == math.floor(middle - (middle - (low - 1)) * width) + 1
        assert found.highs[0] == 1000 - math.floor(1000 - middle - (high - middle) * width)


@pytest.mark.parametrize(("name", "fewest"), [("p50_s", 6), ("p90_s", 36), ("p95_s", 72), ("p99_s", 368)])
def test_with_fewer_calls_all_of_them_may_lie_below(name: str, fewest: int) -> None:
    share = PERCENTILES[name]
    assert share**fewest <= 0.025 < share ** (fewest - 1)
    assert fewest_calls(share) == fewest
    own = compute([measured(CASE, 0.001, calls=(0.001,) * (fewest - 1))])[CASE]
    assert own[name].estimate is None
    assert own[name].absent.startswith(f"{name[:3]} takes {fewest} calls, and {fewest - 1} were timed: --ngraph-tails=")
    assert values((0.001,) * fewest)[name] == 0.001


def test_the_next_step_has_enough_calls() -> None:
    own = compute([measured(CASE, 0.02, calls=(0.02,) * 50)])[CASE]
    assert own["p90_s"].estimate
    assert own["p99_s"].absent == "p99 takes 368 calls, and 50 were timed: --ngraph-tails=12"


@pytest.mark.parametrize(
    ("record", "reason", "by_definition"),
    [
        (measured(CASE, 0.1), "single calls were not timed: --ngraph-tails times them", False),
        (failed(CASE), "openvino at batch size 8 failed in compile: RuntimeError: no such operator", False),
        (
            measured(case("openvino", objective="throughput"), 0.1),
            "calls run side by side, so that none has a time of its own",
            True,
        ),
    ],
)
def test_what_is_absent_says_why(record: object, reason: str, *, by_definition: bool) -> None:
    (own,) = compute([record]).by_case.values()  # type: ignore[list-item]
    assert {(own[name].absent, own[name].by_definition) for name in PERCENTILES} == {(reason, by_definition)}


def test_cells_with_and_without_calls_keep_their_own() -> None:
    one, other = case("openvino", 1), case("openvino", 2)
    metrics = compute(
        [measured(one, 0.1), measured(other, 0.1, calls=(0.1,) * 10), measured(CASE, 0.1, calls=(0.2,) * 7)]
    )
    assert metrics[one]["p50_s"].estimate is None
    assert [metrics[of]["p50_s"].estimate.value for of in (other, CASE)] == [0.1, 0.2]  # type: ignore[union-attr]


def test_clustered_slow_calls_say_less() -> None:
    scattered, clustered = np.ones((2, 1, 1000))
    scattered[0, 19::20] = clustered[0, :50] = 2.0
    found = np.ones(1)
    assert widening(clustered, found, 0.95)[0] > 3 * widening(scattered, found, 0.95)[0]
    assert intervals(clustered, 0.9).highs[0] > intervals(scattered, 0.9).highs[0]


def drawn(correlation: float, count: int, trials: int) -> Floats:
    """Return calls whose logarithms are normal, with this correlation from each to the next."""
    random = np.random.default_rng(0)
    logs = random.standard_normal((trials, count))
    for place in range(1, count):
        fresh = math.sqrt(1 - correlation**2) * logs[:, place]
        logs[:, place] = correlation * logs[:, place - 1] + fresh
    times: Floats = np.exp(0.1 * logs)
    return times


@pytest.mark.parametrize("correlation", [0.0, 0.5])
def test_intervals_cover_the_true_percentile(correlation: float) -> None:
    times = drawn(correlation, 500, 400)
    for share, normal in ((0.5, 0.0), (0.9, 1.2816), (0.99, 2.3263)):
        found, true = intervals(times, share), math.exp(0.1 * normal)
        covered = np.mean((found.lows <= true) & (true <= found.highs))
        assert covered > 0.94


def test_a_percentile_beside_a_jump_is_uncertain() -> None:
    """Where about every hundredth call is slow, p99 is fast in one process and slow in the next."""
    beside, inside = calls(3000, every=100), calls(3000, every=50)
    assert log_error(beside, 0.99) > 1.0
    assert log_error(inside, 0.99) < 0.05
    assert log_error(beside, 0.50) < 0.05
    assert log_error(calls(367), 0.99) == math.inf
