"""What is put between a convolution and what was fused to it is what the explanation names."""

from __future__ import annotations

from explained import kernel, node, profile

from pytest_ngraph.explain.explanation import explain
from pytest_ngraph.explain.profile import Profile

CONV, NORM, RELU = (
    node("conv2d", "a.conv"),
    node("norm", "a.norm", "batch_norm", ["conv2d"]),
    node("relu", "a.act", inputs=["norm"]),
)
SIN = node("sin", "a.conv.added", inputs=["conv2d"])
BASE = profile([kernel("conv_norm_relu", 0.6, ["conv2d", "norm", "relu"])], [CONV, NORM, RELU], latency_s=0.6)


def slower(base: Profile, head: Profile) -> dict[str, float]:
    """Return by how much modules are slower or faster."""
    rows = explain([base, head], fuses_alike=True).rows
    return {row.name: round(row.difference.value, 3) for row in rows if row.kind != "outside" and row.difference}


def test_a_kernel_that_is_split_off_counts_for_what_split_it_off() -> None:
    kernels = [kernel("conv", 0.5, ["conv2d"]), kernel("sin_norm_relu", 0.4, ["sin", "norm", "relu"])]
    head = profile(kernels, [CONV, SIN, NORM, RELU], latency_s=0.9)
    assert slower(BASE, head) == {"a.conv": 0.3}
    assert slower(head, BASE) == {"a.conv": -0.3}


def test_a_kernel_that_both_cases_have_counts_for_all_that_is_in_it() -> None:
    apart = [kernel("conv", 0.5, ["conv2d"]), kernel("norm_relu", 0.1, ["norm", "relu"])]
    base = profile(apart, [CONV, NORM, RELU], latency_s=0.6)
    kernels = [kernel("conv", 0.5, ["conv2d"]), kernel("sin_norm_relu", 0.4, ["sin", "norm", "relu"])]
    head = profile(kernels, [CONV, SIN, NORM, RELU], latency_s=0.9)
    assert slower(base, head) == {"a.conv": 0.0, "a": 0.3}
