"""What compilers made of programs is compared without any time."""

from __future__ import annotations

from explained import kernel, node, profile

from pytest_ngraph.explain.fusions import KindChange, Work, compare, works
from pytest_ngraph.explain.profile import PYTHON, Kernel

NODES = [
    node("conv2d", "layer1.conv"),
    node("relu", "layer1.act", inputs=["conv2d"]),
    node("view", "", inputs=["relu"]),
    node("linear", "head", inputs=["view"]),
]


def test_fusions_that_one_has_and_the_other_lost() -> None:
    fused = profile([kernel("a", 1.0, ["conv2d", "relu"]), kernel("b", 1.0, ["linear"])], NODES)
    apart = profile([kernel(each.name, 1.0, [each.name]) for each in NODES], NODES)
    difference = compare(fused, apart)
    assert (difference.lost, difference.gained) == ({"conv2d+relu": 1}, {})
    assert compare(apart, fused).gained == {"conv2d+relu": 1}


def test_a_part_that_the_other_leaves_out_is_no_fusion() -> None:
    whole = profile([kernel("a", 1.0, ["view", "linear"])], NODES)
    assert compare(whole, profile([kernel("b", 1.0, ["linear"])], NODES)).lost == {}


def test_kernels_of_another_kind_providers_and_layout_changes() -> None:
    base = profile([kernel("a", 1.0, ["linear"], kind="jit_1x1", provider="CPU")], NODES)
    reorder = kernel("r", 0.5, layout=True, provider="NPU")
    head = profile([kernel("a", 1.0, ["linear"], kind="gemm_mlas", provider="CPU"), reorder], NODES)
    difference = compare(base, head)
    assert difference.kinds == (KindChange("head", "linear", "jit_1x1", "gemm_mlas"),)
    assert difference.layout == ((0, 0), (0.5, 1))
    assert difference.providers == ({"CPU": 1}, {"CPU": 1, "NPU": 1})


def test_nodes_of_two_programs_are_compared_by_their_match() -> None:
    renamed = [node("conv2d_7", "layer1.conv", "conv2d"), node("relu_7", "layer1.act", "relu", inputs=["conv2d_7"])]
    fused = profile([kernel("a", 1.0, ["conv2d", "relu"])], NODES[:2])
    also = profile([kernel("b", 1.0, ["conv2d_7", "relu_7"])], renamed)
    assert compare(fused, also, {"conv2d": "conv2d_7", "relu": "relu_7"}).lost == {}


ADDS = [node(f"add_{number}", "block", "add") for number in (1, 2)]
RUN_TWICE = kernel("block/add", 1.0, ["add_1", "add_2"], runs=2)


def test_what_a_library_runs_several_times_is_no_fusion() -> None:
    twice, apart = profile([RUN_TWICE], ADDS), profile([kernel(each.name, 1.0, [each.name]) for each in ADDS], ADDS)
    assert compare(twice, apart).lost == {}
    fused = profile([kernel("a", 1.0, ["add_1", "add_2"])], ADDS)
    assert compare(fused, twice).lost == {"add+add": 1}


def test_steps_whose_time_is_not_told_apart_are_no_fusion_and_may_hold_some() -> None:
    convs = [node(f"{name}_{number}", "layer", name) for number in (1, 2) for name in ("conv2d", "relu")]
    names = [each.name for each in convs]
    joined = profile([kernel("two", 1.0, names, runs=2)], convs)
    fused = profile([kernel("one", 1.0, names[:2]), kernel("other", 1.0, names[2:])], convs)
    assert compare(joined, fused).lost == {}
    assert compare(joined, fused).gained == {}
    assert [(work.label, work.count) for work in works(joined.kernels, convs)] == [("2 x conv2d and 2 x relu", 1)]


def test_what_runs_several_times_is_counted_as_often() -> None:
    found = works([RUN_TWICE, kernel("add", 0.5, ["add_3"])], [*ADDS, node("add_3", operator="add")])
    assert found == [Work(label="add", kind="", count=3, seconds=1.5)]


def test_kernels_that_do_the_same_are_counted_together() -> None:
    kernels = [kernel("a", 1.0, ["conv2d", "relu"], kind="jit"), kernel("b", 3.0, ["view", "linear"])]
    assert works([*kernels, kernel("c", 1.5, ["conv2d", "relu"], kind="jit"), kernel("Reorder", 0.1)], NODES) == [
        Work(label="linear", kind="", count=1, seconds=3.0),
        Work(label="conv2d+relu", kind="jit", count=2, seconds=2.5),
        Work(label="Reorder", kind="", count=1, seconds=0.1),
    ]


def test_time_in_python_is_no_kernel_that_is_counted() -> None:
    own = [Kernel(name=path, operator=PYTHON, seconds=1.0, modules=(path,)) for path in ("conv", "norm")]
    (together,) = works(own, [node("conv2d", "conv")])
    assert together == Work(label="Python", kind="", count=0, seconds=2.0)
