"""Whether a compiled model's outputs agree with eager PyTorch's. Pure: arrays in, an `Agreement` out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pytest_ngraph.artifact import Array
from pytest_ngraph.case import Precision
from pytest_ngraph.record import Agreement
from pytest_ngraph.wording import counted

TOLERANCES: dict[Precision, float] = {"fp32": 1e-4, "fp16": 1e-2, "bf16": 5e-2}
"""Largest relative error allowed. Compilers that compute in fp32 differ from eager by about 2e-6 on the study's
models, those that quietly compute in bf16 or TF32 by about 1e-3: fp32's tolerance lies between, in the logarithm's
middle. The others allow some ten roundings at the end of 11 (fp16) and 8 (bf16) significant bits."""


QUANTIZED = 5e-2
"""Of a graph that rounds to eight bits on its way: a last bit in fp32 decides which of two steps a value falls on, and
a step is a 127th of the largest value."""
KINDS = {"f": "floating-point", "c": "complex", "i": "integer", "u": "integer", "b": "Boolean"}
MASK = 1e30
"""Values from this size up are taken for infinite: what models mask with the smallest number there is in place of -inf
would hide any error of the others, which are compared with the largest."""


def verify(
    outputs: Sequence[Array], reference: Sequence[Array], precision: Precision, *, quantized: bool = False
) -> Agreement:
    """Compare outputs with the reference, one by one, and report the worst.

    The error of an output is the largest absolute difference over the largest absolute reference value, so that
    values near zero beside large ones do not count as wrong. quantized: whether the graph rounds to eight bits.
    """
    tolerance = max(TOLERANCES[precision], QUANTIZED if quantized else 0.0)
    if len(outputs) != len(reference):
        problem = f"gave {counted(len(outputs), 'output')} where eager gives {counted(len(reference), 'output')}"
        return Agreement(error=np.inf, tolerance=tolerance, problem=problem)
    compared = [_compare(*pair, tolerance) for pair in zip(outputs, reference, strict=True)]
    index, (error, problem) = max(enumerate(compared), key=lambda item: item[1][0], default=(0, (0.0, "")))
    return Agreement(error=error, tolerance=tolerance, problem=f"output {index} {problem}" if problem else "")


def _compare(output: Array, reference: Array, tolerance: float) -> tuple[float, str]:
    """The error, infinite for what cannot be compared, and what is wrong in words; empty when nothing is."""
    if output.shape != reference.shape:
        return np.inf, f"has shape {output.shape}, expected {reference.shape}"
    if _kind(output) != _kind(reference):
        return np.inf, f"has {_kind(output)} values ({output.dtype}), expected {_kind(reference)} ({reference.dtype})"
    if reference.size == 0:
        return 0.0, ""
    if _kind(reference) == "complex":
        output, reference = _parts(output), _parts(reference)
    if _kind(reference) != "floating-point":
        return _compare_exactly(output, reference)
    output, reference = _masked(output), _masked(reference)
    difference = _not_finite_elsewhere(output, reference)
    if difference:
        return np.inf, difference
    error = _relative_error(output, reference)
    if error > tolerance:
        return error, f"differs by {error:.1e} relative to its largest value, allowed is {tolerance:.0e}"
    return error, ""


def _kind(array: Array) -> str:
    return KINDS.get(array.dtype.kind, "other")


def _parts(array: Array) -> Array:
    """Real and imaginary parts of complex values side by side, in a type of floats."""
    return np.stack([array.real, array.imag])


def _compare_exactly(output: Array, reference: Array) -> tuple[float, str]:
    wrong = int(np.count_nonzero(output != reference))
    return (np.inf, f"differs in {wrong} of {reference.size} {_kind(reference)} values") if wrong else (0.0, "")


def _masked(array: Array) -> Array:
    return np.where(np.abs(array) >= MASK, np.copysign(np.inf, array), array)


def _not_finite_elsewhere(output: Array, reference: Array) -> str:
    """Describe NaN and infinities that the reference does not have in the same places (masks may hold -inf)."""
    for name, found, expected in (
        ("NaN", np.isnan(output), np.isnan(reference)),
        ("+inf", np.isposinf(output), np.isposinf(reference)),
        ("-inf", np.isneginf(output), np.isneginf(reference)),
    ):
        if not np.array_equal(found, expected):
            return f"has {int(found.sum())} {name} of {output.size} values, expected {int(expected.sum())} of them"
    return ""


def _relative_error(output: Array, reference: Array) -> float:
    finite = np.isfinite(reference)
    if not finite.any():
        return 0.0
    expected = reference[finite].astype(np.float64)
    largest = float(np.max(np.abs(expected)))
    difference = float(np.max(np.abs(output[finite].astype(np.float64) - expected)))
    if largest == 0.0:  # nothing to be relative to: an output that is zero everywhere has its own size as the error
        return difference
    return difference / largest
