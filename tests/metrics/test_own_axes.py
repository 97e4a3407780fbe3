"""Metrics along a size of the user's own: the same mechanism as over the batch."""

from __future__ import annotations

import pytest

from pytest_ngraph.metrics import Metric, Scope
from pytest_ngraph.metrics.compute import compute
from pytest_ngraph.record import Record
from tests.support.synthetic import case, failed, measured, noisy


def grown(compiler: str, exponent: float, name: str = "seq_len", batch_size: int = 2, **sizes: int) -> list[Record]:
    """Return records of lengths 32, 64 and 128, whose time is proportional to length ** exponent."""
    return [
        measured(
            case(compiler, batch_size, sizes=tuple(sorted({name: length, **sizes}.items()))),
            0.001 * (length / 32) ** exponent,
        )
        for length in (32, 64, 128)
    ]


def wider(records: list[Record], name: str) -> list[Metric]:
    return [metric for metric in compute(records).wider if metric.name == name]


def test_growth_is_the_exponent_of_the_time() -> None:
    (metric,) = wider(grown("tvm", 1.5), "growth")
    assert metric.estimate is not None
    assert metric.estimate.value == pytest.approx(1.5)
    assert metric.scope.id == "resnet18-tvm-b2-xeon over seq_len"


def test_growth_over_a_size_equals_friction_over_batches_of_the_same_times() -> None:
    times = {2: 0.001, 4: 0.0017, 8: 0.0031}
    over_batch = [measured(case("tvm", 1), 0.0006), *(measured(case("tvm", b), t) for b, t in times.items())]
    over_size = [measured(case("tvm", 1, sizes=(("n", n),)), t) for n, t in {1: 0.0006, **times}.items()]
    (friction,), (growth,) = wider(over_batch, "friction"), wider(over_size, "growth")
    assert friction.estimate == growth.estimate


def test_growth_has_an_interval_that_includes_it() -> None:
    records = [
        noisy(case("tvm", sizes=(("seq_len", length),)), 0.001 * length**1.5, seed=length) for length in (32, 64, 128)
    ]
    (metric,) = wider(records, "growth")
    assert metric.estimate is not None
    assert metric.estimate.low < 1.5 < metric.estimate.high
    assert metric.estimate.width < 0.1


def test_mitigation_is_identitys_growth_minus_the_compilers() -> None:
    (metric,) = wider(grown("identity", 1.8) + grown("tvm", 1.5), "growth_mitigation")
    assert metric.estimate is not None
    assert metric.estimate.value == pytest.approx(0.3)


def test_mitigation_needs_identity_at_the_same_sizes() -> None:
    (metric,) = wider(grown("identity", 1.8)[:2] + grown("tvm", 1.5), "growth_mitigation")
    assert metric.absent == "tvm has seq_len 32, 64, 128 and identity 32, 64"


def test_scaling_is_the_throughput_over_that_at_the_smallest_size() -> None:
    found = {metric.scope.id: metric.estimate for metric in wider(grown("tvm", 1.0), "scaling")}
    assert {name: each and pytest.approx(each.value) for name, each in found.items()} == {
        "resnet18-tvm-b2-seq_len=64-xeon over seq_len": 0.5,
        "resnet18-tvm-b2-seq_len=128-xeon over seq_len": 0.25,
    }


def test_what_was_not_measured_leaves_out_the_fit_and_its_own_ratio_only() -> None:
    records = grown("tvm", 1.0)
    records[1] = failed(records[1].case)
    (growth,) = wider(records, "growth")
    assert growth.absent == "tvm at batch size 2, seq_len 64 failed in compile: RuntimeError: no such operator"
    assert [bool(metric.estimate) for metric in wider(records, "scaling")] == [False, True]


def test_each_axis_has_curves_of_its_own() -> None:
    records = [
        measured(case("tvm", sizes=(("image", image), ("seq_len", length))), 1e-6 * image**2 * length)
        for image in (224, 448)
        for length in (32, 64)
    ]
    found = {metric.scope.id: metric.estimate for metric in wider(records, "growth")}
    assert {name: each and pytest.approx(each.value) for name, each in found.items()} == {
        "resnet18-tvm-b1-seq_len=32-xeon over image": 2,
        "resnet18-tvm-b1-seq_len=64-xeon over image": 2,
        "resnet18-tvm-b1-image=224-xeon over seq_len": 1,
        "resnet18-tvm-b1-image=448-xeon over seq_len": 1,
    }


def test_batches_of_different_sizes_are_not_one_curve() -> None:
    records = [measured(case("tvm", b, sizes=(("n", n),)), 0.001 * b**0.5 * n) for b in (1, 4) for n in (1, 2)]
    scopes = [metric.scope for metric in wider(records, "friction")]
    assert [scope.sizes for scope in scopes if isinstance(scope, Scope)] == [(("n", 1),), (("n", 2),)]


def test_a_size_that_never_varies_has_no_growth() -> None:
    assert wider(grown("tvm", 1.0)[:1], "growth") == []
