"""Where head and base differ, in one sentence: modules that surely differ, the graphs, the kernels, the coverage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from explained import KERNELS, NODES, explained, kernel, node, profile

from pytest_ngraph.artifact import Node
from pytest_ngraph.explain.explanation import explain
from pytest_ngraph.explain.profile import Kernel
from pytest_ngraph.gate.why import why
from pytest_ngraph.stats import Estimate


def said(head: Sequence[Kernel], nodes: Sequence[Node] = NODES, latency_s: float = 1.0) -> str:
    """Return what is said of it, where the launches show the same."""
    return why(explained(head, nodes, latency_s), Estimate.exactly(latency_s))


def test_the_module_that_became_slower_comes_first() -> None:
    head = [kernel("a", 0.6, ["conv", "relu"], kind="gemm"), kernel("b", 0.5, ["linear"])]
    assert said(head, latency_s=1.2) == (
        "`layer1.conv` +200 ms [177, 223], 100 % [89, 111] of the slowdown; "
        "other kernels: conv2d+relu in `layer1`: jit_1x1, now gemm; 90 % of a call was profiled"
    )


def test_a_faster_module_is_named_as_a_gain() -> None:
    head = [kernel("a", 0.4, ["conv", "relu"], kind="jit_1x1"), kernel("b", 0.3, ["linear"])]
    assert said(head, latency_s=0.8).startswith("`head` -200 ms [-218, -182], 100 % [91, 109] of the gain; ")


def test_a_module_that_hardly_takes_time_is_named_where_it_is_what_became_slower() -> None:
    """Beside other small ones, and with less than a hundredth of a call: an activation of another kind."""
    nodes = [*NODES, *(node(f"small{number}", f"tail.{number}", "relu") for number in range(3))]
    tails = [[kernel(f"s{number}", 0.001, [f"small{number}"]) for number in range(3)] for _ in range(2)]
    tails[1][1] = kernel("s1", 0.009, ["small1"])
    base, head = (
        profile([*KERNELS, *tail], nodes, latency_s=latency_s, name="")
        for tail, latency_s in zip(tails, (1.0, 1.008), strict=True)
    )
    found = why(explain([base, head], fuses_alike=True).to_dict(), Estimate.exactly(1.008))
    assert found.startswith("`tail.1` +8.0 ms [7.7, 8.3], 100 % [96, 104] of the slowdown; ")


def test_operations_that_only_one_side_has_are_named_with_their_modules() -> None:
    head = [*KERNELS, kernel("c", 0.1, ["more"])]
    found = said(head, [*NODES, node("more", "head.added", "linear")], latency_s=1.1)
    assert "added: linear in `head.added`" in found
    assert found.startswith("`head")


def test_changes_in_the_module_that_is_named_come_before_those_elsewhere() -> None:
    """Else a long list ends before it."""
    elsewhere = [node(f"more{number}", f"body.{number}", "relu") for number in range(4)]
    head = [KERNELS[0], kernel("b", 0.7, ["linear"])]
    base, now = (
        [*(replace(each, shape=(size,)) for each in elsewhere), *NODES[:2], replace(NODES[2], shape=(size,))]
        for size in (2, 4)
    )
    pair = [profile(KERNELS, base), profile(head, now, latency_s=1.2)]
    found = why(explain(pair, fuses_alike=True).to_dict(), Estimate.exactly(1.2))
    assert "; changed: linear in `head`, relu in `body.0`, relu in `body.1` and 2 more; " in found


@pytest.mark.parametrize(
    ("other", "further"), [("layer1.norm", "1 more part slower, all in `layer1`"), ("head", "1 more part slower")]
)
def test_what_has_all_parts_that_became_slower_is_named_where_there_are_more_than_two(other: str, further: str) -> None:
    nodes = [*NODES[:2], node("linear", other)]
    head = [kernel("a", 0.6, ["conv"]), kernel("r", 0.2, ["relu"]), kernel("b", 0.7, ["linear"])]
    base = [kernel("a", 0.3, ["conv"]), kernel("r", 0.1, ["relu"]), kernel("b", 0.5, ["linear"])]
    pair = [profile(base, nodes, name="base"), profile(head, nodes, latency_s=1.6, name="head")]
    found = why(explain(pair, fuses_alike=True).to_dict(), Estimate.exactly(1.6))
    assert found.split("; ")[2] == further


def test_a_part_that_hardly_differs_beside_the_first_is_counted_and_not_named() -> None:
    head = [kernel("a", 0.41, ["conv", "relu"], kind="jit_1x1"), kernel("b", 0.8, ["linear"])]
    base = explained(head, latency_s=1.31)
    for row in base["rows"]:  # as sure as if it had been measured for longer
        if row["name"].startswith("layer1"):
            row["difference"] = [0.01, 0.009, 0.011]
    found = why(base, Estimate.exactly(1.31)).split("; ")
    assert found[0].startswith("`head` +300 ms [")
    assert found[1] == "1 more part slower"
    assert found[2].startswith("together +310 ms [")


def test_operations_of_one_module_are_named_together_without_those_that_compute_nothing() -> None:
    operators = ["_assert_tensor_metadata", "transpose", "view", "transpose", "softmax"]
    added = [node(f"more{number}", "head.added", name) for number, name in enumerate(operators)]
    head = [*KERNELS, kernel("c", 0.1, [each.name for each in added])]
    assert "; added: transpose and softmax in `head.added`; " in said(head, [*NODES, *added], latency_s=1.1)
    assert "; added: view in `head.added`; " in said(head, [*NODES, node("more0", "head.added", "view")], latency_s=1.1)


def test_what_is_no_longer_fused_is_named() -> None:
    head = [kernel("a", 0.4, ["conv"]), kernel("r", 0.2, ["relu"]), kernel("b", 0.5, ["linear"])]
    found = said(head, latency_s=1.2)
    assert found.startswith("`layer1.act` +200 ms [194, 206], 100 % [97, 103] of the slowdown; ")
    assert "no longer fused: conv2d+relu" in found


def test_time_outside_of_kernels_is_named_where_no_part_differs() -> None:
    found = said(KERNELS, latency_s=1.1)
    assert found.startswith("what is outside of kernels, such as Python, +100 ms [")
    assert found.endswith("], 100 % [93, 107] of the slowdown; 82 % of a call was profiled")


def test_nothing_is_named_that_does_not_surely_differ() -> None:
    found = said(KERNELS, latency_s=1.0001)
    assert found == "no single part of it is surely slower; 90 % of a call was profiled"


def test_shares_of_a_difference_that_the_profiler_inflates_are_of_what_was_profiled() -> None:
    head = [kernel("a", 0.6, ["conv", "relu"], kind="jit_1x1"), kernel("b", 0.7, ["linear"])]
    found = said(head, latency_s=1.01)
    assert "`layer1.conv` +200 ms [177, 223], 50 % [44, 56] of the profiled slowdown; " in found


def test_a_share_is_as_uncertain_as_what_the_launches_show() -> None:
    head = [kernel("a", 0.6, ["conv", "relu"], kind="jit_1x1"), kernel("b", 0.5, ["linear"])]
    found = explained(head, latency_s=1.2)
    assert ", 80 % [56, 135] of the slowdown; " in why(found, Estimate(1.25, 1.15, 1.35))
    assert ", 80 % of the slowdown; " in why(found, Estimate(1.25, 0.9, 1.6))


def test_shares_are_of_what_the_launches_show_and_not_of_the_few_calls_beside_the_profile() -> None:
    """Those few may even show a gain; then a faster module is no reason for a slowdown."""
    head = [kernel("a", 0.6, ["conv", "relu"], kind="jit_1x1"), kernel("b", 0.45, ["linear"])]
    found = explained(head, latency_s=0.95)
    assert why(found, Estimate.exactly(1.16)).startswith(
        "`layer1.conv` +200 ms [177, 223], more than the whole slowdown; "
    )
    assert why(found, Estimate.exactly(1.25)).startswith(
        "`layer1.conv` +200 ms [177, 223], 80 % [71, 89] of the slowdown; "
    )


def test_what_differs_the_other_way_is_named_where_it_makes_up_for_a_fair_part() -> None:
    """Else a part that is more than the whole difference would look like a mistake."""
    head = [kernel("a", 0.6, ["conv", "relu"], kind="jit_1x1"), kernel("b", 0.4, ["linear"])]
    assert said(head, latency_s=1.1).split("; ")[:2] == [
        "`layer1.conv` +200 ms [177, 223], more than the whole slowdown",
        "`head` is faster, -100 ms [-120, -80]",
    ]
    assert said(head[::-1], latency_s=0.95).split("; ")[1].startswith("`layer1.conv` is slower, +200 ms [")
    hardly = [kernel("a", 0.8, ["conv", "relu"], kind="jit_1x1"), kernel("b", 0.47, ["linear"])]
    assert "is faster" not in said(hardly, latency_s=1.4)


def test_what_no_part_shows_is_the_rest_where_it_is_surely_something() -> None:
    head = [kernel("a", 0.6, ["conv", "relu"], kind="jit_1x1"), kernel("b", 0.5, ["linear"])]
    found = explained(head, latency_s=1.2)
    assert why(found, Estimate(1.3, 1.27, 1.33)).split("; ")[1] == "the rest, +100 ms [62, 138], is in no single part"
    for ratio in (Estimate(1.3, 1.1, 1.5), Estimate(1.21, 1.2, 1.22), Estimate.exactly(1.1)):
        assert "the rest" not in why(found, ratio)
    faster = explained(
        [kernel("a", 0.2, ["conv", "relu"], kind="jit_1x1"), kernel("b", 0.5, ["linear"])], latency_s=0.8
    )
    assert why(faster, Estimate(0.7, 0.68, 0.72)).split("; ")[1].startswith("the rest, -100 ms [")


def test_what_is_surely_outside_of_kernels_is_not_in_the_rest() -> None:
    """It is a part that surely differs, although only modules are named where there are any."""
    head = [kernel("a", 0.6, ["conv", "relu"], kind="jit_1x1"), kernel("b", 0.5, ["linear"])]
    found = explained(head, latency_s=1.3)
    assert [row["kind"] for row in found["rows"] if row["difference"][0] == pytest.approx(0.1)] == ["outside"]
    assert "the rest" not in why(found, Estimate(1.3, 1.27, 1.33))


def test_layout_changes_that_became_cheaper_are_several() -> None:
    base = [kernel("a", 0.4, ["conv", "relu"]), kernel("reorder", 0.2, layout=True)]
    head = [kernel("a", 0.7, ["conv", "relu"]), kernel("reorder", 0.1, layout=True)]
    pair = [profile(own, NODES, latency_s=latency_s) for own, latency_s in ((base, 1.0), (head, 1.2))]
    found = why(explain(pair, fuses_alike=True).to_dict(), Estimate.exactly(1.2))
    assert "; layout changes are faster, -100 ms [" in found


def test_several_parts_that_differ_the_other_way_are_summed() -> None:
    nodes = [*NODES[:2], node("linear", "head")]
    base = [kernel("a", 0.3, ["conv"]), kernel("r", 0.2, ["relu"]), kernel("b", 0.4, ["linear"])]
    head = [kernel("a", 0.2, ["conv"]), kernel("r", 0.1, ["relu"]), kernel("b", 0.8, ["linear"])]
    pair = [profile(base, nodes, name="base"), profile(head, nodes, latency_s=1.2, name="head")]
    found = why(explain(pair, fuses_alike=True).to_dict(), Estimate.exactly(1.2)).split("; ")
    assert found[0].startswith("`head` +400 ms [")
    assert found[1].startswith("2 parts faster, all in `layer1`, together -200 ms [")


def test_a_profiler_that_slows_calls_down_is_named() -> None:
    slow = [kernel("a", 1.6, ["conv", "relu"]), kernel("b", 0.5, ["linear"])]
    pair = [
        profile(kernels, NODES, name="", latency_s=1.0) for kernels in (slow, [*slow[:1], kernel("b", 0.7, ["linear"])])
    ]
    assert why(explain(pair, fuses_alike=True).to_dict(), Estimate.exactly(1.2)).endswith(
        "; the profiler makes a call 2.1 times as long"
    )


def test_a_profile_that_is_not_possible_says_why() -> None:
    assert (
        why({"problem": "mine has no method instrument"}, Estimate.exactly(1.1))
        == "where is not known: mine has no method instrument"
    )
