"""Thresholds in simulated sessions of the same code, whose processes differ by more than their rounds show."""

from __future__ import annotations

import dataclasses
import math
from functools import lru_cache

import numpy as np
import pytest
from synthetic import case, measured, under_load

from pytest_ngraph.gate import Threshold, check
from pytest_ngraph.gate.limits import Limits
from pytest_ngraph.metrics import Metric, Metrics, compute
from pytest_ngraph.metrics.between import IN_GENERAL, NO_SPREAD, PAIR, RUN, Between
from pytest_ngraph.metrics.load import OTHER_CALLS, highest_rate, steepest
from pytest_ngraph.record import Record
from pytest_ngraph.report.answers import Candidate, answers
from pytest_ngraph.stats import Estimate

ROUNDS_ONLY = Between(NO_SPREAD, NO_SPREAD, "the rounds alone")
TVM = case("tvm", 8)
SECONDS = {("identity", 1): 0.012, ("identity", 8): 0.08, ("tvm", 1): 0.01, ("tvm", 8): 0.064}


def session(seed: int, workloads: int = 1) -> list[Record]:
    """Return the records of one session: each process has a speed of its own, and so has the machine on that day."""
    random = np.random.default_rng(seed)
    day = random.normal(0, IN_GENERAL.session.deviation)
    records = []
    for workload in range(workloads):
        for (compiler, size), seconds in SECONDS.items():
            process = random.normal(0, IN_GENERAL.process.deviation)
            samples = seconds * np.exp(day + process + random.normal(0, 0.002, 24))
            records.append(measured(case(compiler, size, workload=f"net{workload}"), samples.tolist()))
    return records


@lru_cache(maxsize=400)
def of_one_network(seed: int, between: Between) -> Metrics:
    """Return the metrics of one session, which every limit is compared with."""
    return compute(session(seed), between=between)


def breached(text: str, between: Between, sessions: int = 300, workloads: int = 1) -> float:
    """Return the share of the sessions in which a limit is called breached at least once."""
    threshold = Threshold.parse(text)
    found = []
    for seed in range(sessions):
        alone = workloads == 1
        metrics = of_one_network(seed, between) if alone else compute(session(seed, workloads), between=between)
        found.append(any(one.outcome == "breached" for one in check([threshold], metrics)))
    return float(np.mean(found))


@pytest.mark.parametrize("text", ["speedup[b=8]<1.25 if compiler=tvm", "rtr[b=8]<1.25 if compiler=tvm"])
def test_a_limit_on_what_was_measured_on_two_days_is_seldom_called_breached(text: str) -> None:
    """A resumed run measured what is compared with TVM at batch size 8 on the first day. A day does not cancel then."""
    threshold, found = Threshold.parse(text), []
    for seed in range(300):
        first = [record for record in session(seed) if record.case != case("tvm", 8, workload="net0")]
        later = [record for record in session(seed + 1000) if record.case == case("tvm", 8, workload="net0")]
        resumed = [dataclasses.replace(record, session="later") for record in later]
        found.append(any(one.outcome == "breached" for one in check([threshold], compute([*first, *resumed]))))
    assert np.mean(found) <= 0.025 + 2 * math.sqrt(0.025 * 0.975 / 300)


@pytest.mark.parametrize(
    ("text", "by_rounds"),
    [
        ("speedup[b=8]<1.25 if compiler=tvm", 0.3),
        ("throughput[b=8]<125 if compiler=tvm", 0.4),
        ("bsr[b=8]<1.041666 if compiler=tvm", 0.3),
        ("rtr[b=8]<1.25 if compiler=tvm", 0.3),
    ],
)
def test_a_limit_at_the_true_value_is_seldom_called_breached(text: str, by_rounds: float) -> None:
    """2.5 of 100 sessions are allowed. By their rounds alone, nearly every second one is called."""
    assert breached(text, IN_GENERAL) <= 0.025 + 2 * math.sqrt(0.025 * 0.975 / 300)
    assert breached(text, ROUNDS_ONLY, sessions=100) > by_rounds


def test_with_many_limits_a_session_is_still_seldom_called_breached() -> None:
    text = "speedup[b=8]<1.25 if compiler=tvm"
    assert breached(text, IN_GENERAL, sessions=150, workloads=10) <= 0.05
    assert breached(text, ROUNDS_ONLY, sessions=20, workloads=10) > 0.9


def test_what_is_far_beyond_the_limit_is_breached() -> None:
    assert breached("speedup[b=8]<1.4 if compiler=tvm", IN_GENERAL, sessions=50) > 0.9
    assert breached("speedup[b=8]<1.5 if compiler=tvm", IN_GENERAL, sessions=10, workloads=10) == 1


def evidence(metric: str, metrics: Metrics, bound: float) -> tuple[float, str, Estimate]:
    found = Limits(metrics).evidence(metrics[TVM][metric], bound)
    return found.p, found.parts, found.interval


RECORDS = [
    measured(case(compiler, size), [seconds] * 24, compile_s=3.0, cpu_percent=50.0, worker_memory_bytes=1000)
    for (compiler, size), seconds in SECONDS.items()
]
"""Without any error within the processes."""


@pytest.mark.parametrize(
    ("metric", "deviation"),
    [
        ("throughput", RUN.deviation),
        ("latency_s", RUN.deviation),
        ("speedup", PAIR.deviation),
        ("rtr", PAIR.deviation),
        ("ase", PAIR.deviation),
        ("bsr", math.sqrt(2) * PAIR.deviation),
        ("compile_s", 0.05),
        ("worker_memory_bytes", 0.005),
    ],
)
def test_each_metric_has_the_spread_of_the_processes_that_it_takes(metric: str, deviation: float) -> None:
    """A limit one deviation away: the tail of Student's t, of few degrees of freedom, is a fifth."""
    metrics = compute(RECORDS)
    estimate = metrics[TVM][metric].estimate
    assert estimate is not None
    p, parts, interval = evidence(metric, metrics, estimate.value * math.exp(deviation))
    assert 0.15 < p < 0.22
    assert parts.endswith("between processes")
    assert "within" not in parts
    assert interval.low < estimate.value < interval.high


def test_break_even_is_judged_by_the_speedup() -> None:
    metrics = compute(RECORDS)
    p, _, interval = evidence("break_even", metrics, 1.0)
    assert p < 0.001
    assert interval.low < 3.0 / (0.01 - 0.008) < interval.high
    slower = [
        measured(case(compiler, 8), [0.08 if compiler == "identity" else 0.08 * factor] * 24, compile_s=3.0)
        for factor in (1.01,)
        for compiler in ("identity", "tvm")
    ]
    p, _, interval = evidence("break_even", compute(slower), 1e6)
    assert 0.1 < p < 0.5, "it is never paid back here, but 1 % is no more than processes differ by"
    assert interval.high == math.inf
    assert interval.low < 1e6


def test_a_slope_over_depth_varies_with_its_speedups() -> None:
    blocks = {("identity", 1): 0.01, ("tvm", 1): 0.008, ("identity", 3): 0.03, ("tvm", 3): 0.02}
    records = [measured(case(c, 8, workload="conv", depth=d), [s] * 24) for (c, d), s in blocks.items()]
    metrics = compute(records)
    [slope] = [each for each in metrics.wider if each.name == "depth_slope"]
    found = Limits(metrics).evidence(slope, 0.0)
    width = found.interval.high - found.interval.low
    assert found.interval.value == pytest.approx(0.125)
    deviation = PAIR.deviation * math.hypot(1.25, 1.5) / 2
    assert 2 * 2 * deviation < width < 2 * 3 * deviation


def test_a_metric_of_ones_own_has_only_its_own_interval() -> None:
    own = Metric("mine.ratio", TVM, Estimate(0.8, 0.7, 0.9))
    found = Limits(Metrics({TVM: {own.name: own}})).evidence(own, 0.9)
    assert found.parts == "± 0.100 within its processes"
    assert found.p == pytest.approx(0.025, rel=0.01)


RATES = (
    0.31, 0.36, 0.41, 0.5, 0.63, 0.81, 1.12, 1.61, 2.52, 2.72, 2.95, 3.25, 3.61, 3.99, 4.31, 4.79, 5.26, 5.8, 6.39,
    6.97, 7.67, 8.46, 9.1, 9.87, 10.58, 11.51, 12.41, 13.25, 14.13, 15.08,
)  # fmt: skip
"""Highest rates within 100 ms, by `highest_of`: of calls of 63.6 ms, and then each 3 % shorter."""


def highest(call_s: float) -> float:
    return math.exp(np.interp(math.log(0.05 / call_s) / 0.03 + 8, range(len(RATES)), np.log(RATES)))


@pytest.mark.parametrize("call_s", [0.05, 0.1 / 3])
def test_a_highest_rate_differs_far_more_than_calls(call_s: float) -> None:
    """A limit at the true rate is seldom called breached, and of two equal compilers one is seldom surely better."""
    threshold, random, sessions = Threshold.parse(f"max_rate<{highest(call_s)}"), np.random.default_rng(0), 400
    outcomes = []
    for _ in range(sessions):
        day = random.normal(0, IN_GENERAL.session.deviation)
        metrics = {}
        for compiler in ("openvino", "tvm"):
            seconds = call_s * math.exp(day + random.normal(0, IN_GENERAL.process.deviation))
            slower, rate, faster = (highest(seconds * math.exp(by)) for by in (OTHER_CALLS, 0, -OTHER_CALLS))
            record = under_load(compiler, seconds, *(rate * np.exp(random.normal(0, 0.01, 6))))
            assert record.load is not None
            estimate, steepness = highest_rate(record.load), steepest(slower, rate, faster)
            assert isinstance(estimate, Estimate)
            metrics[record.case] = Metric("max_rate", record.case, estimate, steepness=steepness)
        [one, _] = check([threshold], Metrics({of: {"max_rate": each} for of, each in metrics.items()}))
        candidates = [
            Candidate(of.compiler, 1, "serving", each.estimate, None, each.steepness)
            for of, each in metrics.items()
            if each.estimate
        ]
        [answer] = answers(candidates, IN_GENERAL)
        outcomes.append((one.outcome == "breached", answer.is_sure))
    breached, sure = np.mean(outcomes, axis=0)
    assert breached <= 0.025 + 2 * math.sqrt(0.025 * 0.975 / sessions)
    assert sure <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / sessions)
