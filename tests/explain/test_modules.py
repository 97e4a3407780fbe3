"""Rows are for modules at the depth where something happens, and together they have all the time."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pytest_ngraph.explain.modules import Chosen, Times, choose

PATHS = st.lists(st.sampled_from(["a", "b", "c"]), max_size=4).map(".".join)


def times(*cases: dict[str, float], fuses_alike: bool = False) -> Times:
    paths = dict.fromkeys(path for case in cases for path in case)
    own = {path: np.array([[case.get(path, 0.0)] * 3 for case in cases]) for path in paths}
    return Times(own, fuses_alike=fuses_alike)


def test_heavy_modules_are_opened_and_light_ones_are_not() -> None:
    found = choose(times({"stem": 2.0, "body.0.conv": 40.0, "body.0.norm": 30.0, "body.1": 30.0, "head.a": 1.0}))
    assert set(found) == {
        Chosen("stem"), Chosen("body.0.conv"), Chosen("body.0.norm"), Chosen("body.1"), Chosen("head")
    }  # fmt: skip


def test_a_module_stays_closed_where_kernels_of_a_case_span_its_parts() -> None:
    eager, fused = {"block.conv": 6.0, "block.norm": 4.0}, {"block": 5.0}
    assert choose(times(eager, fused)) == [Chosen("block")]


def test_a_difference_that_cancels_in_a_module_opens_it() -> None:
    first, second = {"a.0": 9.0, "a.1": 1.0, "b": 3.0}, {"a.0": 1.0, "a.1": 9.0, "b": 2.0}
    assert set(choose(times(first, second))) == {Chosen("a.0"), Chosen("a.1"), Chosen("b")}


def test_a_depth_can_be_given() -> None:
    spent = times({"a.0.conv": 1.0, "a.1.conv": 1.0, "b": 100.0, "": 1.0})
    assert set(choose(spent, depth=1)) == {Chosen("", opened=True), Chosen("a"), Chosen("b")}
    assert Chosen("a.0.conv") in choose(spent, depth=3)


@given(st.dictionaries(PATHS, st.floats(0.001, 10.0), min_size=1, max_size=20), st.none() | st.integers(1, 4))
def test_rows_have_all_the_time_once(own: dict[str, float], depth: int | None) -> None:
    spent = times(own)
    rows = choose(spent, depth)
    total = sum(float((spent.itself if opened else spent.within)(module)[0, 0]) for module, opened in rows)
    np.testing.assert_allclose(total, sum(own.values()))


def test_a_layer_that_has_become_a_module_of_several_is_one_row() -> None:
    """Else the layer of before is a gain, and the same layer at its new path a loss."""
    base, head = {"a.conv": 5.0, "b.conv": 5.0}, {"a.conv.inner": 5.0, "a.conv.added": 3.0, "b.conv": 5.0}
    found = choose(times(base, head, fuses_alike=True))
    assert Chosen("a.conv") in found
    assert not any(module.startswith("a.conv.") for module, _ in found)


def test_a_module_in_which_only_one_of_two_cases_spends_time_is_one_row() -> None:
    """It is new, or the other case has it in a kernel that counts for a module around: its parts are its own matter."""
    base = {"a": 0.2, "a.norm": 1.0, "b.conv": 5.0}
    head = {"a.conv.inner": 1.0, "a.conv.added": 7.0, "a.norm": 1.0, "b.conv": 5.0}
    assert Chosen("a.conv") in choose(times(base, head, fuses_alike=True))
    assert Chosen("a.conv.added") in choose(times(base, head))


def test_two_cases_by_one_compiler_are_opened_down_to_the_module_that_differs() -> None:
    """Twelve blocks have more rows than a table shows, and the attention of each spans its parts."""
    own = {f"blocks.{block}.{part}": np.array([[1.0], [1.0]]) for block in range(12) for part in ("a", "b")}
    own |= {f"blocks.{block}": np.array([[3.0], [3.0]]) for block in range(12)}
    own["blocks.5.a"] = np.array([[1.0], [2.0]])
    assert Chosen("blocks.5.a") in choose(Times(own, fuses_alike=True))
    assert Chosen("blocks.5") in choose(Times(own))
