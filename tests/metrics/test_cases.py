from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from launched import costs
from synthetic import case, failed, measured, noisy, skipped

from pytest_ngraph.artifact import Model
from pytest_ngraph.costs import Costs
from pytest_ngraph.metrics import Metrics, compute
from pytest_ngraph.record import Agreement, Record
from pytest_ngraph.stats import Estimate


def grid() -> list[Record]:
    """Return four records at batch sizes 1 and 8: identity with 100 and 200 samples/s, openvino with 200 and 800."""
    own: dict[str, Any] = {
        "compile_s": 6.0,
        "cpu_percent": 45.0,
        "worker_memory_bytes": 2**30,
        "device_memory_bytes": 2**20,
    }
    return [
        measured(case("identity", 1), 0.01, cpu_percent=90.0),
        measured(case("identity", 8), 0.04, cpu_percent=90.0),
        measured(case("openvino", 1), 0.005, **own),
        measured(case("openvino", 8), 0.01, **own),
    ]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("throughput", 800.0),
        ("latency_s", 0.01),
        ("speedup", 4.0),
        ("rtr", 4.0),
        ("ase", 0.5),
        ("bsr", 0.5 / 0.25),
        ("compile_s", 6.0),
        ("break_even", 6.0 / (1 / 200 - 1 / 800)),
        ("cpu_percent", 45.0),
        ("cpu_reduction", 0.5),
        ("worker_memory_bytes", 2**30),
        ("device_memory_bytes", 2**20),
    ],
)
def test_by_hand(name: str, value: float) -> None:
    estimate = compute(grid())[case("openvino", 8)][name].estimate
    assert estimate == pytest.approx(Estimate.exactly(value))


@pytest.mark.parametrize(
    ("model", "tokens_per_s"),
    [(Model(tokens=128, step="prefill"), 800.0 * 128), (Model(tokens=1, step="decode"), 800.0)],
)
def test_tokens_are_those_of_a_sample_times_the_samples(model: Model, tokens_per_s: float) -> None:
    record = measured(case("openvino", 8), 0.01, model=model)
    own = compute([record])[record.case]
    assert own["tokens_per_s"].estimate == pytest.approx(Estimate.exactly(tokens_per_s))


def test_the_first_token_comes_with_the_end_of_a_prefill() -> None:
    records = [
        measured(case("openvino", 1), 0.01, model=Model(tokens=128, step="prefill")),
        measured(case("openvino", 8), 0.01, model=Model(tokens=1, step="decode")),
    ]
    first, other = (compute(records)[record.case]["time_to_first_token_s"] for record in records)
    assert first.estimate == pytest.approx(Estimate.exactly(0.01))
    assert (other.absent, other.by_definition) == ("the workload is no prefill", True)


def test_without_text_there_are_no_tokens() -> None:
    own = compute(grid())[case("openvino", 8)]["tokens_per_s"]
    assert own.absent == "the workload has no text whose tokens are known"
    assert own.by_definition


def test_identity_is_its_own_reference() -> None:
    own = compute(grid())[case("identity", 8)]
    for name in ("speedup", "bsr"):
        assert own[name].estimate == Estimate.exactly(1.0)
        assert own[name].by_definition
    assert not own["rtr"].by_definition
    for name in ("break_even", "cpu_reduction"):
        assert own[name].absent == "identity is the reference of the other compilers"
        assert own[name].by_definition
    assert own["compile_s"].absent == "nothing is compiled"
    assert own["compile_s"].by_definition


def test_scaling_starts_at_one() -> None:
    own = compute(grid())[case("openvino", 1)]
    assert all(
        own[name].by_definition and own[name].estimate == Estimate.exactly(1.0) for name in ("rtr", "ase", "bsr")
    )


def test_slower_than_identity_never_pays_back() -> None:
    records = [noisy(case("identity"), 0.01, seed=1), noisy(case("tvm"), 0.1, seed=2, compile_s=5.0)]
    assert compute(records)[case("tvm")]["break_even"].estimate == Estimate.exactly(math.inf)


def test_pay_back_is_unbounded_where_a_tie_is_possible() -> None:
    records = [noisy(case("identity"), 0.0101, seed=1), noisy(case("tvm"), 0.01, 0.05, seed=2, compile_s=5.0)]
    estimate = compute(records)[case("tvm")]["break_even"].estimate
    assert estimate is not None
    assert 0 < estimate.low < estimate.value
    assert estimate.high == math.inf


@pytest.mark.parametrize(
    ("broken", "name", "reason"),
    [
        (lambda records: records[1:], "rtr", None),
        (lambda records: records[:2] + records[3:], "rtr", "batch size 1 was not measured"),
        (lambda records: records[1:], "bsr", "identity was not measured at batch size 1"),
        (lambda records: [records[0], *records[2:]], "speedup", "identity was not measured at batch size 8"),
        (
            lambda records: [records[0], failed(case("identity", 8)), *records[2:]],
            "speedup",
            "identity at batch size 8 failed in compile: RuntimeError: no such operator",
        ),
        (
            lambda records: [*records[:3], failed(case("openvino", 8), "error 1e-2", phase="verify", kind="disagreed")],
            "throughput",
            "openvino at batch size 8 disagreed in verify: error 1e-2",
        ),
        (
            lambda records: [*records[:3], skipped(case("openvino", 8), "needs openvino")],
            "compile_s",
            "openvino at batch size 8 was skipped: needs openvino",
        ),
        (
            lambda records: [
                *records[:3],
                measured(
                    case("openvino", 8), 0.1, agreement=Agreement(error=1.0, tolerance=0.1, problem="output 0 differs")
                ),
            ],
            "bsr",
            "openvino at batch size 8 disagreed in verify: output 0 differs",
        ),
        (
            lambda records: [*records[:3], measured(case("openvino", 8), [])],
            "ase",
            "openvino at batch size 8 has no rounds",
        ),
        (
            lambda records: [*records[:3], measured(case("openvino", 8), 0.1)],
            "cpu_reduction",
            "CPU time was not recorded",
        ),
    ],
)
def test_lacking_a_cell_a_metric_is_absent_and_says_why(
    broken: Callable[[list[Record]], list[Record]], name: str, reason: str | None
) -> None:
    metric = compute(broken(grid()))[case("openvino", 8)][name]
    assert (metric.absent or None) == reason
    assert (metric.estimate is None) == bool(reason)


def test_idle_identity_has_no_cpu_to_reduce() -> None:
    records = [measured(case(), 0.1, cpu_percent=0.0), measured(case("tvm"), 0.1, cpu_percent=1.0)]
    assert compute(records)[case("tvm")]["cpu_reduction"].absent == "identity at batch size 1 used no CPU time"


def test_few_rounds_leave_every_ratio_undecided() -> None:
    metrics = compute([measured(case(), 0.1, rounds=3), measured(case("tvm"), 0.2)])
    assert metrics[case()]["throughput"].estimate == Estimate(10.0, 0.0, math.inf)
    assert metrics[case("tvm")]["speedup"].estimate == Estimate(0.5, -math.inf, math.inf)


compilers_and_sizes = st.lists(
    st.tuples(st.sampled_from(["identity", "openvino", "tvm:x=1"]), st.sampled_from([1, 2, 16])), unique=True
)


def scattered(cells: list[tuple[str, int]]) -> list[Record]:
    return [noisy(case(*cell), 0.01, 0.05, seed=seed) for seed, cell in enumerate(cells)]


@given(compilers_and_sizes)
def test_identities_between_metrics(cells: list[tuple[str, int]]) -> None:
    metrics: Metrics = compute(scattered(cells))
    for of, own in metrics.by_case.items():
        rtr, ase = own["rtr"].estimate, own["ase"].estimate
        assert (rtr is None) == (ase is None)
        if rtr and ase:
            assert ase == pytest.approx(rtr.scaled(1 / of.batch_size))
        for metric in own.values():
            assert (metric.estimate is None) == bool(metric.absent)
            if metric.estimate:
                assert metric.estimate.low <= metric.estimate.value <= metric.estimate.high


@given(compilers_and_sizes)
def test_metrics_depend_neither_on_order_nor_on_strangers(cells: list[tuple[str, int]]) -> None:
    records = scattered(cells)
    stranger = noisy(case("openvino", 2, workload="vgg16"), 0.3)
    alone, together = compute(records), compute([stranger, *reversed(records)])
    for of in alone.by_case:
        for name, one in alone[of].items():
            other = together[of][name]
            # Where other arrays lie in memory changes the last digit of a sum; intervals are of sums in float32.
            assert replace(one, estimate=None) == replace(other, estimate=None)
            assert (one.estimate is None) == (other.estimate is None)
            if one.estimate and other.estimate:
                assert one.estimate.value == pytest.approx(other.estimate.value, rel=1e-12)
                assert one.estimate == pytest.approx(other.estimate, rel=4 * float(np.finfo(np.float32).eps))


def test_a_cost_to_serve_has_the_interval_of_its_launches() -> None:
    metrics = compute([measured(case("tvm", 8), 0.1, serving=costs(1.0, 1.2, 1.1, 1.3, 0.9, 1.0))])[case("tvm", 8)]
    assert metrics["cold_start_s"].estimate == pytest.approx((0.525, 0.45, 0.65))
    assert metrics["artifact_bytes"].estimate == Estimate.exactly(40 * 2**20)


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (measured(case("tvm", 8), 0.1), "the costs to serve were not measured; --ngraph-serving asks for them"),
        (
            measured(case("tvm", 8), 0.1, serving=Costs(problem="it cannot be deployed: no")),
            "it cannot be deployed: no",
        ),
        (failed(case("tvm", 8)), "tvm at batch size 8 failed in compile: RuntimeError: no such operator"),
    ],
)
def test_a_cost_that_is_not_known_says_why(record: Record, reason: str) -> None:
    metric = compute([record])[case("tvm", 8)]["cold_start_s"]
    assert (metric.estimate, metric.absent, metric.by_definition) == (None, reason, False)
