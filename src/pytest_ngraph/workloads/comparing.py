"""Compare one output of a compiled model with the reference. Pure: arrays in, the error and what differs out.

`verify.py` decides which outputs are compared, and what is allowed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from pytest_ngraph.artifact import Array

KINDS = {"f": "floating-point", "c": "complex", "i": "integer", "u": "integer", "b": "Boolean"}
MASK = 1e30
"""Larger absolute values count as infinite. Some models mask with the most negative number instead of -inf; the error
is relative to the largest value, so that a mask would hide all other errors."""
FP16_MASK = 6.5e4
"""The same of what was computed in fp16, where the reference has a mask: the most negative number there is -65504."""
LARGE, GAP, ALIKE, MOST_MASKS = 1e3, 100.0, 0.01, 4
"""Smaller masks, such as -1e9 and -1e4, are known by this: they are at least `LARGE`, at least two lie within a share
`ALIKE` of each other, and every other value is `GAP` times smaller. Up to `MOST_MASKS` may stand above each other.
Below `LARGE`, values of confident networks look the same: many probabilities of 1, the others next to 0."""


class Allowed(NamedTuple):
    """What may differ.

    Attributes:
        error: the largest error of an output.
        integers: the share of an output's integers, or Booleans, that may be others.
        step: how far integers of eight bits may be off without being others.
        mask: absolute values from here on are infinite where the reference is.
    """

    error: float
    integers: float = 0.0
    step: int = 0
    mask: float = MASK


class Compared(NamedTuple):
    """How an output compares.

    Attributes:
        error: its error; infinite if it cannot be compared.
        problem: what differs, in words; empty where it agrees.
        differing: the share of its integers, or Booleans, that are others.
    """

    error: float
    problem: str = ""
    differing: float = 0.0


def compare(output: Array, reference: Array, allowed: Allowed) -> Compared:
    """Compare an output with the reference."""
    if problem := other_form(output, reference):
        return Compared(np.inf, problem)
    if reference.size == 0:
        return Compared(0.0)
    if kind(reference) == "complex":
        output, reference = _parts(output), _parts(reference)
    if kind(reference) != "floating-point":
        return _compare_exactly(output, reference, allowed)
    if (reach := _reach(reference)) < LARGE and _reach(output) < MASK:  # no masks, infinities or NaN: nearly always
        return _compare_errors(_reach(np.subtract(output, reference, dtype=np.float64)) / (reach or 1.0), allowed)
    reference = _masked(reference)
    output = _masked(output, np.where(np.isinf(reference), allowed.mask, MASK))
    difference = _not_finite_elsewhere(output, reference)
    if difference:
        return Compared(np.inf, difference)
    return _compare_errors(_relative_error(output, reference), allowed)


def _compare_errors(error: float, allowed: Allowed) -> Compared:
    """Return how an output compares whose error is known."""
    if error > allowed.error:
        most = f"at most {allowed.error:.0e} is allowed"
        return Compared(error, f"differs by {error:.1e} relative to its largest value; {most}")
    return Compared(error)


def other_form(output: Array, reference: Array) -> str:
    """Describe another shape or kind of values than the reference has; empty where both are the same."""
    if output.shape != reference.shape:
        return f"has shape {output.shape}, expected {reference.shape}"
    if kind(output) != kind(reference):
        return f"has {kind(output)} values ({output.dtype}), expected {kind(reference)} ({reference.dtype})"
    return ""


def without_finite(array: Array) -> str:
    """Return what a floating-point or complex array holds instead of finite values; empty where it holds some."""
    what = kind(array)
    if array.size == 0 or what not in ("floating-point", "complex"):
        return ""
    if _reach(array) < MASK:
        return ""
    values = _masked(_parts(array) if what == "complex" else array)
    if np.isfinite(values).any():
        return ""
    names = (("NaN", np.isnan(values)), ("infinite", np.isinf(values)))
    return " or ".join(name for name, places in names if places.any())


def joined(output: Array, reference: Array) -> Array:
    """Return complex values where an output has their two parts along a last axis, as ONNX has no complex numbers."""
    if kind(reference) == "complex" and kind(output) == "floating-point" and output.shape == (*reference.shape, 2):
        made: Array = output[..., 0] + 1j * output[..., 1]
        return made
    return output


def smallest_mask(outputs: Sequence[Array], mask: float = MASK) -> float:
    """Return what all masks of some outputs are above, and all their other values below: `MASK` where that is none.

    Args:
        mask: as in `Allowed`.
    """
    masks, others = mask, 0.0
    for array in outputs:
        sizes = np.abs(array) if kind(array) in ("floating-point", "complex") else np.zeros(0)
        sizes = sizes[sizes < MASK]
        if sizes.size:
            largest = _largest_unmasked(sizes)
            masks, others = min(masks, float(sizes[sizes > largest].min(initial=MASK))), max(others, largest)
    return masks / 2 if 2 * others < masks < MASK else MASK


def kind(array: Array) -> str:
    """Return what an array's values are, as a word for users."""
    return KINDS.get(array.dtype.kind, "other")


def _parts(array: Array) -> Array:
    """Return the real and imaginary parts of complex values as an array of floats."""
    return np.stack([array.real, array.imag])


def _compare_exactly(output: Array, reference: Array, allowed: Allowed) -> Compared:
    what = kind(reference)
    has_steps = what == "integer" and reference.dtype.itemsize == 1 and allowed.step > 0
    if has_steps:
        wrong = int(np.count_nonzero(np.abs(output.astype(np.int64) - reference.astype(np.int64)) > allowed.step))
    else:
        wrong = int(np.count_nonzero(output != reference))
    share = wrong / reference.size
    most = allowed.integers if what in ("integer", "Boolean") else 0.0
    if share <= most:
        return Compared(0.0, differing=share)
    how = f"differs{' by more than a step' if has_steps else ''} in {wrong} of {reference.size} {what} values"
    return Compared(np.inf, how + (f"; at most {100 * most:.0f} % may" if most else ""), share)


def _reach(array: Array) -> float:
    """Return the largest absolute value, NaN where there is one, without an array of all absolute values."""
    if array.dtype.kind == "c":
        return float(np.max(np.abs(array)))
    return max(-float(np.min(array)), float(np.max(array)))


def _masked(array: Array, mask: float | Array = MASK) -> Array:
    return np.where(np.abs(array) >= mask, np.copysign(np.inf, array), array)


def _not_finite_elsewhere(output: Array, reference: Array) -> str:
    """Describe NaN and infinities in other places than in the reference (masks may hold -inf)."""
    for name, found, expected in (
        ("NaN", np.isnan(output), np.isnan(reference)),
        ("+inf", np.isposinf(output), np.isposinf(reference)),
        ("-inf", np.isneginf(output), np.isneginf(reference)),
    ):
        if not np.array_equal(found, expected):
            return f"has {int(found.sum())} {name} of {output.size} values, expected {int(expected.sum())} of them"
    return ""


def _relative_error(output: Array, reference: Array) -> float:
    """Return the largest difference relative to the largest value; for masks, relative to the mask."""
    finite = np.isfinite(reference)
    if not finite.any():
        return 0.0
    found, expected = (
        (array.ravel() if finite.all() else array[finite]).astype(np.float64) for array in (output, reference)
    )
    sizes = np.abs(expected)
    difference = np.abs(found - expected)
    scale = _largest_unmasked(sizes) or 1.0  # the rest is zero everywhere: use the absolute error
    if scale >= np.max(sizes):  # there are no masks
        return float(np.max(difference) / scale)
    return float(np.max(difference / np.maximum(sizes, scale)))


def _largest_unmasked(sizes: Array) -> float:
    """Return the largest of these absolute values that is no mask."""
    largest = top = float(np.max(sizes))
    below = sizes
    for _ in range(MOST_MASKS):
        rest = below[below < top * (1 - ALIKE)] if top >= LARGE else below
        if rest.size == 0 or len(below) - len(rest) < 2:
            break
        mask, below, top = top, rest, float(np.max(rest))
        if top * GAP <= mask:
            largest = top
    return largest
