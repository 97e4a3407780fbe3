"""Kernels are led back to the lowest module that has everything that went into them."""

from __future__ import annotations

import pytest
from explained import kernel, node
from hypothesis import given
from hypothesis import strategies as st

from pytest_ngraph.explain.places import LAYOUT, UNATTRIBUTED, Place, is_within, lowest, place, place_of_main

MODULES = {"conv": "layer1.0.conv", "norm": "layer1.0.norm", "other": "layer1.1.conv", "flatten": ""}
NODES = {name: node(name, module, "conv2d" if "conv" in module else name) for name, module in MODULES.items()}
PATHS = st.lists(st.sampled_from(["a", "b", "c"]), max_size=4).map(".".join)


@pytest.mark.parametrize(
    ("nodes", "module"),
    [
        (["conv"], "layer1.0.conv"),
        (["conv", "norm"], "layer1.0"),
        (["conv", "other"], "layer1"),
        (["conv", "flatten"], ""),
        (["conv", "a constant"], "layer1.0.conv"),
    ],
)
def test_a_fused_kernel_belongs_to_the_lowest_module_that_has_all_its_nodes(nodes: list[str], module: str) -> None:
    assert place(kernel("k", 1.0, nodes), NODES) == Place("module", module)


@pytest.mark.parametrize(
    ("nodes", "module"),
    [(["conv", "norm"], "layer1.0.conv"), (["conv", "other"], "layer1"), (["norm", "flatten"], "")],
)
def test_where_two_cases_fuse_alike_a_kernel_belongs_to_its_only_product(nodes: list[str], module: str) -> None:
    assert place_of_main(kernel("k", 1.0, nodes), NODES) == Place("module", module)


def test_a_library_may_know_modules_instead_of_nodes() -> None:
    assert place(kernel("k", 1.0, modules=("a.b", "a.c")), {}) == Place("module", "a")


def test_layout_changes_are_a_group_of_their_own_even_where_they_name_a_node() -> None:
    assert place(kernel("k", 1.0, ["conv"], layout=True), NODES) == LAYOUT


def test_what_cannot_be_led_back_is_unattributed() -> None:
    assert place(kernel("k", 1.0, ["nothing of this program"]), NODES) == UNATTRIBUTED


@given(st.lists(PATHS, min_size=1, max_size=4))
def test_the_lowest_module_contains_all_and_no_part_of_it_does(paths: list[str]) -> None:
    found = lowest(paths)
    assert all(is_within(path, found) for path in paths)
    parts = {path[len(found) :].strip(".").partition(".")[0] for path in paths}
    assert len(parts) > 1 or found in paths
