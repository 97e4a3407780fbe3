"""Parts that a compiler computes in one kernel have one row, so that two compilers can be compared there."""

from __future__ import annotations

from explained import kernel, node, profile

from pytest_ngraph.explain.explanation import explain

NODES = [
    node("conv2d", "conv1"),
    node("batch_norm", "bn1", inputs=["conv2d"]),
    node("relu", "act1", inputs=["batch_norm"]),
    node("linear", "body.0.fc", inputs=["relu"]),
    node("add", "body.0", inputs=["linear"]),
    node("mean", "head", inputs=["add"]),
]
STEM = ["conv2d", "batch_norm", "relu"]


def rows(*profiles: object) -> dict[str, list[float]]:
    explained = explain(profiles)  # type: ignore[arg-type]
    return {row.name: [each.value for each in row.seconds] for row in explained.rows if row.kind == "module"}


def test_parts_that_one_case_fused_are_joined_in_both() -> None:
    fused = profile([kernel("a", 3.0, STEM), kernel("b", 4.0, ["linear"]), kernel("c", 2.0, ["mean"])], NODES, 10.0)
    apart = [kernel(name, 2.0, [name]) for name in STEM]
    eager = profile([*apart, kernel("b", 5.0, ["linear"]), kernel("c", 2.0, ["mean"])], NODES, 14.0)
    assert rows(fused, eager) == {"conv1, bn1, act1": [3.0, 6.0], "body.0.fc": [4.0, 5.0], "head": [2.0, 2.0]}


def test_a_small_kernel_across_large_parts_joins_nothing() -> None:
    kernels = [kernel("a", 4.0, ["conv2d"]), kernel("b", 4.0, ["linear"]), kernel("c", 0.5, ["conv2d", "add"])]
    assert set(rows(profile(kernels, NODES, 9.0))) == {"conv1", "body.0.fc"}


def test_where_all_parts_are_joined_the_module_has_the_row() -> None:
    nodes = [node("conv2d", "body.conv"), node("relu", "body.act", inputs=["conv2d"]), node("linear", "head")]
    fused = profile([kernel("a", 4.0, ["conv2d", "relu"]), kernel("b", 5.0, ["linear"])], nodes, 10.0)
    assert rows(fused) == {"body": [4.0], "head": [5.0]}
