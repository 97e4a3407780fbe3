"""Inputs are drawn as their role asks for."""

import numpy as np
import pytest

from pytest_ngraph.workloads.drawing import Fixed, Ids, Mask, Positions, Role, Values, draw

INT64 = np.dtype(np.int64)


def drawn(shape: tuple[int, ...], role: Role, dtype: str = "int64") -> np.ndarray:
    return draw(np.random.default_rng(0), shape, np.dtype(dtype), role)


def test_ids_use_the_whole_table_and_stay_below_its_size() -> None:
    ids = drawn((4, 500), Ids(7))
    assert set(np.unique(ids)) == set(range(7))
    assert ids.dtype == np.int64


def test_ids_stay_below_what_their_type_holds() -> None:
    assert drawn((50,), Ids(100_000), "int8").min() >= 0


def test_a_mask_is_mostly_ones_and_its_zeros_are_at_the_end() -> None:
    mask = drawn((16, 32), Mask())
    assert 0.75 <= mask.mean() < 1
    assert (np.diff(mask, axis=1) <= 0).all()
    assert mask[:, 0].all()


@pytest.mark.parametrize("dtype", ["bool", "int32", "float32"])
def test_a_mask_has_the_type_of_its_input(dtype: str) -> None:
    mask = drawn((2, 8), Mask(), dtype)
    assert mask.dtype == np.dtype(dtype)
    assert set(np.unique(mask)) <= {0, 1}


def test_positions_count_up_along_the_last_axis_and_begin_again_at_the_end_of_their_table() -> None:
    assert drawn((2, 5), Positions()).tolist() == [[0, 1, 2, 3, 4]] * 2
    assert drawn((5,), Positions(3)).tolist() == [0, 1, 2, 0, 1]


@pytest.mark.parametrize("role", [Values(), Ids(9), Mask(), Positions(4), Fixed(16000)])
def test_a_scalar_stays_a_scalar(role: Role) -> None:
    assert drawn((), role).shape == ()


def test_a_fixed_number_is_drawn_as_it_is() -> None:
    assert drawn((2,), Fixed(16000, "compared with it")).tolist() == [16000, 16000]


def test_without_a_role_integers_are_0_or_1_and_floats_are_normal() -> None:
    assert set(np.unique(drawn((100,), Values()))) == {0, 1}
    floats = drawn((10_000,), Values(), "float16")
    assert floats.dtype == np.float16
    assert abs(floats.mean()) < 0.1
    assert abs(floats.std() - 1) < 0.1


def test_equal_seeds_draw_equal_inputs() -> None:
    assert np.array_equal(drawn((3, 4), Ids(1000)), drawn((3, 4), Ids(1000)))


def test_the_text_of_a_role_says_what_was_drawn_and_why() -> None:
    assert str(Ids(30522, "index embed.weight")) == "ids below 30522 (index embed.weight)"
    assert str(Positions(512)) == "positions below 512"
    assert str(Mask("its name has mask")) == "a mask, mostly ones (its name has mask)"
    assert str(Values()) == "0 or 1"
