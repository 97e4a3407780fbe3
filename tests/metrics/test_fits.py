from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from synthetic import case, failed, measured, noisy

from pytest_ngraph.case import Case
from pytest_ngraph.metrics import Metric, Scope, compute
from pytest_ngraph.record import Record
from pytest_ngraph.stats import Estimate


def wider(records: list[Record], name: str) -> dict[str, Metric]:
    """Return the metrics of this name by compiler."""
    found = [metric for metric in compute(records).wider if metric.name == name]
    assert len({metric.scope for metric in found}) == len(found)
    return {metric.scope.compiler: metric for metric in found}


def curve(compiler: str, exponent: float, batch_sizes: tuple[int, ...] = (1, 4, 16)) -> list[Record]:
    """Return the records of a compiler whose ASE is exactly b^-exponent."""
    return [measured(case(compiler, b), 0.01 * b**exponent) for b in batch_sizes]


@given(st.floats(-0.5, 1.5))
def test_friction_is_the_exponent_of_a_power_law(exponent: float) -> None:
    estimate = wider(curve("tvm", exponent), "friction")["tvm"].estimate
    assert estimate == pytest.approx(Estimate.exactly(exponent), abs=1e-9)


def test_friction_is_the_least_squares_fit_through_one() -> None:
    records = [noisy(case("tvm", b), 0.01 * b**0.7, 0.2, seed=b) for b in (1, 2, 8, 32)]
    first = records[0].throughput
    sizes = np.log([2.0, 8.0, 32.0])
    efficiencies = np.log([r.throughput / (r.case.batch_size * first) for r in records[1:]])
    fitted = -np.linalg.lstsq(sizes[:, None], efficiencies, rcond=None)[0][0]
    estimate = wider(records, "friction")["tvm"].estimate
    assert estimate is not None
    assert estimate.value == pytest.approx(fitted)
    assert estimate.low < fitted < estimate.high


def test_mitigation_is_the_difference_to_identity() -> None:
    records = curve("identity", 0.9) + curve("openvino", 0.6)
    mitigations = wider(records, "friction_mitigation")
    assert list(mitigations) == ["openvino"]
    assert mitigations["openvino"].estimate == pytest.approx(Estimate.exactly(0.3))


def test_friction_belongs_to_the_curve_over_batch_sizes() -> None:
    [metric] = wider(curve("tvm", 0.5), "friction").values()
    assert metric.scope == Scope(workload="resnet18", compiler="tvm", device="xeon")
    assert metric.scope.id == "resnet18-tvm-xeon"
    assert metric.case is None


def test_one_batch_size_makes_no_curve() -> None:
    assert wider(curve("tvm", 0.5, (4,)), "friction") == {}


def test_curve_without_batch_size_one_has_no_friction() -> None:
    assert "batch size 1" in wider(curve("tvm", 0.5, (4, 8)), "friction")["tvm"].absent


def test_curve_with_a_failure_has_no_friction() -> None:
    records = [*curve("tvm", 0.5), failed(case("tvm", 64), "killed", kind="out of memory")]
    assert wider(records, "friction")["tvm"].absent == "tvm at batch size 64 out of memory in compile: killed"


def test_mitigation_wants_equal_batch_sizes() -> None:
    records = curve("identity", 0.9, (1, 4)) + curve("openvino", 0.6)
    reason = wider(records, "friction_mitigation")["openvino"].absent
    assert reason == "openvino has batch sizes 1, 4, 16 and identity 1, 4"
    assert "identity none" in wider(curve("openvino", 0.6), "friction_mitigation")["openvino"].absent


def block(compiler: str, depth: int) -> Case:
    return case(compiler, 8, workload="conv", depth=depth, width=64)


def stack(speedups: dict[int, float]) -> list[Record]:
    return [
        measured(block(compiler, depth), seconds)
        for depth, speedup in speedups.items()
        for compiler, seconds in (("identity", 0.01 * depth), ("openvino", 0.01 * depth / speedup))
    ]


def test_depth_by_hand() -> None:
    records = stack({1: 2.0, 2: 3.0, 4: 4.0})
    depths = np.array([1.0, 2.0, 4.0])
    slope = np.polyfit(depths, [2.0, 3.0, 4.0], 1)[0]
    [own] = wider(records, "depth_slope").values()
    assert own.estimate == pytest.approx(Estimate.exactly(slope))
    assert own.scope.id == "conv-openvino-b8-w64-xeon"
    assert wider(records, "depth_retention")["openvino"].estimate == pytest.approx(Estimate.exactly(2.0))


def test_single_depth_makes_no_stack() -> None:
    assert wider(stack({3: 2.0}), "depth_slope") == {}


def test_stack_without_depth_one_has_no_retention() -> None:
    records = stack({2: 2.0, 4: 2.0})
    assert wider(records, "depth_retention")["openvino"].absent == "depth 1 was not measured"
    assert wider(records, "depth_slope")["openvino"].estimate == pytest.approx(Estimate.exactly(0.0), abs=1e-9)


def test_stack_with_a_failure_is_absent() -> None:
    records = [*stack({1: 2.0, 2: 2.0}), failed(block("openvino", 3)), measured(block("identity", 3), 0.1)]
    for name in ("depth_slope", "depth_retention"):
        assert wider(records, name)["openvino"].absent.startswith("openvino at batch size 8, depth 3 failed in compile")


def test_stack_without_identity_says_at_which_depth() -> None:
    records = [each for each in stack({1: 2.0, 2: 2.0}) if each.case.compiler != "identity"]
    assert wider(records, "depth_slope")["openvino"].absent == "identity was not measured at batch size 8, depth 1"
