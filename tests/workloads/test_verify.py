from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from pytest_ngraph.artifact import Array
from pytest_ngraph.case import Precision
from pytest_ngraph.workloads.comparing import MASK, smallest_mask
from pytest_ngraph.workloads.verify import TOLERANCES, allowed_in, unverifiable, verify

finite = st.floats(-1e6, 1e6, width=32)


def floats(*values: float) -> Array:
    return np.array(values, dtype=np.float32)


@given(arrays(np.float32, st.integers(1, 20), elements=finite))
def test_equal_outputs_agree(array: Array) -> None:
    agreement = verify([array], [array.copy()], "fp32")
    assert agreement.agrees
    assert agreement.error == 0


@given(arrays(np.float32, st.integers(1, 20), elements=st.floats(1, 100, width=32)), st.floats(0.5, 2).map(np.float32))
def test_the_error_does_not_depend_on_scale(array: Array, scale: np.float32) -> None:
    output = array * np.float32(1.01)
    unscaled, scaled = verify([output], [array], "bf16"), verify([output * scale], [array * scale], "bf16")
    assert scaled.error == pytest.approx(unscaled.error, rel=1e-2)


def test_the_error_is_relative_to_the_largest_value() -> None:
    agreement = verify([floats(100.0, 0.002)], [floats(100.0, 0.001)], "fp32")
    assert agreement.error == pytest.approx(1e-5)
    assert agreement.agrees


def test_a_mask_hides_no_error() -> None:
    smallest = float(np.finfo(np.float32).min)
    assert verify([floats(smallest, 1.0)], [floats(smallest, 1.0)], "fp32").agrees
    assert not verify([floats(smallest, 1.1)], [floats(smallest, 1.0)], "fp32").agrees
    assert not verify([floats(0.0, 1.0)], [floats(smallest, 1.0)], "fp32").agrees


@pytest.mark.parametrize("mask", [-1e4, -1e9, 1e9])
def test_large_values_that_repeat_hide_no_error(mask: float) -> None:
    """As `logits.masked_fill(~allowed, -1e9)` has them."""
    reference = floats(mask, 3.0, mask, -2.0)
    assert verify([floats(mask, 3.00001, mask, -2.0)], [reference], "fp32").agrees
    assert verify([floats(mask * 1.004, 3.0, mask, -2.01)], [reference], "bf16").agrees
    for wrong in (floats(mask, 0.0, mask, 0.0), floats(mask, 3.0, 3.0, -2.0), floats(mask, 3.0, mask * 1.01, -2.0)):
        assert not verify([wrong], [reference], "fp32").agrees


@pytest.mark.parametrize(
    ("reference", "error"),
    [
        (floats(-2e9, -1e9, -2e9, -1e9, 1.0), 0.1),
        (floats(-1e4 - 3, -1e4, -1e4 + 5, 1.0), 0.1),  # added to logits
        (floats(-1e4, 1.0, 2.0), 1e-5),  # a single one may be a value like any other
        (floats(100, 100, 1.0), 1e-3),  # probabilities in percent
        (floats(-1e4, -1e4, 1e3), 1e-5),  # nothing far below it
    ],
)
def test_masks_are_told_from_the_largest_of_other_values(reference: Array, error: float) -> None:
    output = reference.copy()
    output[-1] += 0.1
    assert verify([output], [reference], "fp32").error == pytest.approx(error, rel=1e-2)


def test_the_lowest_number_of_fp16_is_a_mask_where_the_reference_has_one() -> None:
    """As `scores.masked_fill(~allowed, torch.finfo(scores.dtype).min)` has it, and with a score added to it."""
    lowest = float(np.finfo(np.float32).min)
    reference = floats(lowest, 3.0, lowest, -np.inf)
    output = floats(-65504, 3.0, -65472, -65504)
    assert verify([output], [reference], "fp16").agrees
    assert not verify([output], [reference], "fp32").agrees
    every, others, large = floats(*[-65504] * 4), floats(65504, 3, -65504, -65504), floats(-6e4, 3, -6e4, -6e4)
    for wrong in (every, others, large):
        assert not verify([wrong], [reference], "fp16").agrees


@given(
    arrays(np.float32, st.integers(2, 20), elements=st.floats(-30, 30, width=32)),
    st.lists(st.booleans(), min_size=20, max_size=20),
)
def test_a_mask_does_not_change_the_error_of_what_it_leaves(logits: Array, masked: list[bool]) -> None:
    places = np.array(masked[: len(logits)])
    if np.count_nonzero(places) < 2 or places.all():
        return
    wrong = logits + np.where(places, 0, 0.5).astype(np.float32)
    left = verify([wrong[~places]], [logits[~places]], "fp32").error
    filled = (np.where(places, np.float32(-1e9), array) for array in (wrong, logits))
    assert verify([next(filled)], [next(filled)], "fp32").error == pytest.approx(left)


@pytest.mark.parametrize(
    ("outputs", "mask"),
    [
        ([floats(-1e9, 3, -1e9, np.nan), floats(-2e4, -2e4, 1, 3e38, 3e38), floats()], 1e4),
        ([floats(-1e4, 3, -1e4), floats(2e4)], MASK),
        ([floats(3, -np.inf, 3e38), np.array([10**9, 10**9, 1]), np.array(["a"])], MASK),
    ],
    ids=["above", "between others", "none"],
)
def test_masks_of_several_outputs_are_told_from_all_other_values(outputs: list[Array], mask: float) -> None:
    assert smallest_mask(outputs) == mask


def test_the_masks_of_outputs_in_fp16_are_smaller_than_those_of_the_reference() -> None:
    reference = [floats(np.finfo(np.float32).min, 3, -np.inf)]
    mask = smallest_mask(reference, allowed_in("fp16").mask)
    assert 6e4 < 2 * mask < 65472
    assert smallest_mask(reference, allowed_in("bf16").mask) == MASK
    assert smallest_mask([floats(6e4)], allowed_in("fp16").mask) == MASK


def test_the_worst_output_is_reported() -> None:
    agreement = verify([floats(1.0), floats(1.1), floats(1.01)], [floats(1.0)] * 3, "fp32")
    assert agreement.error == pytest.approx(0.1)
    assert agreement.problem == "output 1 differs by 1.0e-01 relative to its largest value; at most 1e-04 is allowed"


def test_bf16_does_not_pass_for_fp32() -> None:
    """Rounding to bf16 leaves 8 significant bits: errors of about 2e-3."""
    reference = np.random.default_rng(0).normal(size=1000).astype(np.float32)
    rounded = (reference.view(np.uint32) + 0x8000 & 0xFFFF0000).view(np.float32)
    assert not verify([rounded], [reference], "fp32").agrees
    assert verify([rounded], [reference], "bf16").agrees


def test_a_quantized_graph_may_differ_by_a_step() -> None:
    step = floats(1.0, 0.5 + 1 / 127)
    assert not verify([step], [floats(1.0, 0.5)], "fp32").agrees
    assert verify([step], [floats(1.0, 0.5)], "fp32", quantized=True).agrees


LABELS = np.arange(100) % 21
SOME, MANY = (np.where(np.arange(100) < count, 20 - LABELS, LABELS) for count in (9, 20))


@pytest.mark.parametrize(
    ("precision", "quantized"), [("bf16", False), ("fp16", False), ("fp32", True)], ids=["bf16", "fp16", "quantized"]
)
def test_some_integers_may_differ_where_rounding_decides_between_two(precision: Precision, quantized: bool) -> None:
    """As `logits.argmax(1)` does where two logits are next to equal."""
    agreement = verify([SOME, floats(1.0)], [LABELS, floats(1.0)], precision, quantized=quantized)
    assert agreement.agrees
    assert agreement.differing == 0.09
    wrong = verify([MANY], [LABELS], precision, quantized=quantized)
    assert wrong.problem == "output 0 differs in 19 of 100 integer values; at most 10 % may"
    assert verify([SOME > 10], [LABELS > 10], precision, quantized=quantized).agrees
    assert not verify([SOME], [LABELS], "fp32").agrees


def test_integers_of_eight_bits_may_differ_by_a_step_in_a_quantized_graph() -> None:
    reference = np.array([0, 255, 7, 128], np.uint8)
    step = reference + np.array([1, 255, 0, 255], np.uint8)
    assert verify([step], [reference], "fp32", quantized=True).agrees
    assert not verify([step], [reference], "bf16").agrees
    assert not verify([step.astype(np.int64)], [reference.astype(np.int64)], "fp32", quantized=True).agrees
    wrong = verify([reference[::-1]], [reference], "fp32", quantized=True)
    assert wrong.problem == "output 0 differs by more than a step in 4 of 4 integer values; at most 10 % may"


def test_texts_are_equal_in_any_precision() -> None:
    texts = np.array(["a"] * 100)
    assert verify([texts], [texts.copy()], "bf16").agrees
    assert not verify([np.where(np.arange(100) < 1, "b", texts)], [texts], "bf16").agrees


def test_tolerances_widen_with_fewer_bits() -> None:
    assert TOLERANCES["fp32"] < TOLERANCES["fp16"] < TOLERANCES["bf16"]


@pytest.mark.parametrize(
    ("output", "reference", "problem"),
    [
        (floats(1, 2), floats(1, 2, 3), r"output 0 has shape \(2,\), expected \(3,\)"),
        (np.array([1, 2]), floats(1, 2), r"has integer values \(int64\), expected floating-point \(float32\)"),
        (np.array([1, 2]), np.array([1, 3]), "differs in 1 of 2 integer values"),
        (np.array([True]), np.array([False]), "differs in 1 of 1 Boolean values"),
        (floats(np.nan, 1), floats(1, 1), "has 1 NaN of 2 values, expected 0 of them"),
        (floats(np.inf, 1), floats(1, 1), r"has 1 \+inf of 2 values, expected 0"),
        (floats(np.inf, 1), floats(-np.inf, 1), r"has 1 \+inf of 2 values, expected 0"),
        (floats(1e-3), floats(0.0), "differs by 1.0e-03"),
    ],
)
def test_the_difference_is_named(output: Array, reference: Array, problem: str) -> None:
    agreement = verify([output], [reference], "fp32")
    assert not agreement.agrees
    assert re.search(problem, agreement.problem)


@pytest.mark.parametrize("reference", [floats(0.0), floats(0.0, 0.0), floats(np.nan, 1.0)])
def test_references_without_scale_are_met_exactly(reference: Array) -> None:
    assert verify([reference.copy()], [reference], "fp32").agrees


@pytest.mark.parametrize(
    ("reference", "what"),
    [
        (floats(np.nan, np.nan), "NaN"),
        (floats(-np.inf), "infinite"),
        (floats(np.nan, np.inf), "NaN or infinite"),
        (floats(np.finfo(np.float32).min), "infinite"),
        (np.full(3, complex(np.nan, np.nan)), "NaN"),
    ],
)
def test_a_reference_without_a_finite_value_verifies_nothing(reference: Array, what: str) -> None:
    """Whatever goes wrong, it gives NaN again: wrong outputs would agree."""
    agreement = verify([floats(1.0), reference.copy()], [floats(1.0), reference], "fp32")
    assert not agreement.agrees
    assert agreement.error == np.inf
    assert f"output 1 of the reference has only {what} values, with which nothing can be verified" in agreement.problem


def test_a_reference_without_a_single_value_verifies_nothing() -> None:
    """As a detector's that finds nothing. One output may be empty beside others."""
    empty = [np.zeros((0, 4), np.float32), floats(), np.zeros(0, np.int64)]
    assert unverifiable(empty, ()) == "every output of the reference is empty, with which nothing can be verified"
    assert not verify(empty, empty, "fp32").agrees
    for some in (floats(1.0, 2.0), np.array(3)):
        assert verify([*empty, some], [*empty, some.copy()], "fp32").agrees


def test_infinities_in_the_same_places_agree() -> None:
    masked = floats(-np.inf, 1.0)
    assert verify([floats(-np.inf, 1.00001)], [masked], "fp32").agrees


def test_the_number_of_outputs_must_match() -> None:
    agreement = verify([floats(1)], [floats(1), floats(2)], "fp32")
    assert agreement.problem == "gave 1 output, but eager gives 2 outputs"


def test_complex_values_are_compared_as_their_parts() -> None:
    reference = np.array([3 + 4j, 0.5 - 1j], dtype=np.complex64)
    assert verify([reference * np.float32(1 + 1e-6)], [reference], "fp32").agrees
    assert not verify([reference.conj()], [reference], "fp32").agrees
