"""Compare a compiled model's outputs with those of eager PyTorch. Pure: arrays in, an `Agreement` out."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from pytest_ngraph.artifact import Array, Artifact
from pytest_ngraph.case import FP32, Precision
from pytest_ngraph.record import Agreement
from pytest_ngraph.wording import counted
from pytest_ngraph.workloads.comparing import (
    FP16_MASK,
    MASK,
    Allowed,
    Compared,
    compare,
    joined,
    other_form,
    without_finite,
)
from pytest_ngraph.workloads.order import groups_of, in_order_of, undecided, without_ties

TOLERANCES: dict[Precision, float] = {"fp32": 1e-4, "fp16": 1e-2, "bf16": 5e-2}
"""Largest relative error allowed. On the study's models, compilers that compute in fp32 differ from eager by about
2e-6, those that silently compute in bf16 or TF32 by about 1e-3. fp32's tolerance lies between, near the middle on a
logarithmic scale. The others allow about ten roundings at the end of 11 (fp16) and 8 (bf16) significant bits."""


QUANTIZED = 5e-2
"""Tolerance of a graph that rounds to eight bits: the last bit in fp32 decides to which of two steps a value is
rounded, and a step is a 127th of the largest value."""
INTEGERS = 0.1
"""Share of an output's integers that may be others where values are rounded to fewer bits than in fp32: two logits may
then change their order, or become equal. Between eager fp32 and bf16, up to 0.4 % of the pixels of torchvision's
segmentation networks get another class without trained weights, and 5 % of random vectors another of 512 codes."""


def agreement(
    outputs: Sequence[Array], artifact: Artifact, precision: Precision, reference: Sequence[Array] | None = None
) -> Agreement:
    """Compare a compiled model's outputs with the reference of its artifact, whose own precisions count if it has any.

    Args:
        outputs: the compiled model's outputs.
        artifact: what it was compiled from.
        precision: what it was compiled for.
        reference: other outputs of such a model, to compare with instead.
    """
    return verify(
        outputs,
        artifact.reference() if reference is None else reference,
        coarsest(artifact.precisions, otherwise=precision),
        quantized=artifact.quantized,
        names=artifact.output_names,
        data_dependent=artifact.data_dependent,
        random=artifact.random,
    )


def verify(
    outputs: Sequence[Array],
    reference: Sequence[Array],
    precision: Precision,
    *,
    quantized: bool = False,
    names: Sequence[str] = (),
    data_dependent: Collection[str] = (),
    random: Collection[str] = (),
) -> Agreement:
    """Compare outputs with the reference, one by one, and report the worst.

    The error of an output is the largest absolute difference over the largest absolute reference value, so that
    values near zero beside large ones do not count as wrong. A mask is no such value: it would hide all others.

    Args:
        outputs: the compiled model's outputs.
        reference: eager PyTorch's outputs.
        precision: precision of the compiled model.
        quantized: whether the graph rounds to eight bits.
        names: what the user knows each output by, such as `output['logits']`; without them they are numbered.
        random: names of the outputs whose values eager PyTorch draws in each call. Only their types and shapes are
            compared.
        data_dependent: names of the outputs whose number of rows values decide. Their rows are compared in any order,
            and a few may be others that tie with the last ones kept.
    """
    allowed = allowed_in(precision, quantized=quantized)
    tolerance = allowed.error
    if len(outputs) != len(reference):
        problem = f"gave {counted(len(outputs), 'output')}, but eager gives {counted(len(reference), 'output')}"
        return Agreement(error=np.inf, tolerance=tolerance, problem=problem)
    outputs = [joined(output, expected) for output, expected in zip(outputs, reference, strict=True)]
    if random:
        drawn = [index for index, name in enumerate(names) if name in random]
        for index in drawn:
            if problem := other_form(outputs[index], reference[index]):
                return Agreement(error=np.inf, tolerance=tolerance, problem=f"{names[index]} {problem}")
        kept = [index for index in range(len(names)) if index not in drawn]
        outputs, reference = ([arrays[index] for index in kept] for arrays in (outputs, reference))
        names = [names[index] for index in kept]
    if unusable := unverifiable(reference, names):
        return Agreement(error=np.inf, tolerance=tolerance, problem=unusable)
    agreement = _worst(outputs, reference, allowed, names)
    if data_dependent and not agreement.agrees:
        names = names or [f"output[{index}]" for index in range(len(reference))]
        groups = groups_of(reference, names, data_dependent)
        ordered = in_order_of(reference, outputs, groups)
        agreement = _worst(without_ties(reference, ordered, groups, tolerance), reference, allowed, names)
        if problem := _other_number(outputs, reference, names, data_dependent):
            return Agreement(error=np.inf, tolerance=tolerance, problem=problem)
        if not agreement.agrees:
            tied = undecided(reference, outputs, groups, tolerance)
            return _without_undecided(agreement, outputs, reference, allowed, names, tied)
    return agreement


def _without_undecided(
    agreement: Agreement,
    outputs: Sequence[Array],
    reference: Sequence[Array],
    allowed: Allowed,
    names: Sequence[str],
    tied: Sequence[int],
) -> Agreement:
    """Return the agreement of the outputs whose rows do not depend on rounding alone, if there are others (`tied`)."""
    if not tied or any(other_form(outputs[index], reference[index]) for index in tied):
        return agreement
    kept = [index for index in range(len(names)) if index not in tied]
    given, expected = ([arrays[index] for index in kept] for arrays in (outputs, reference))
    found = _worst(given, expected, allowed, [names[index] for index in kept])
    return replace(found, undecided=", ".join(names[index] for index in tied))


def differing(outputs: Sequence[Array], reference: Sequence[Array], names: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the outputs that do not agree with the reference in fp32."""
    allowed = allowed_in(FP32)
    compared = zip(names, outputs, reference, strict=True)
    return tuple(name for name, output, expected in compared if compare(output, expected, allowed).problem)


def _other_number(
    outputs: Sequence[Array], reference: Sequence[Array], names: Sequence[str], data_dependent: Collection[str]
) -> str:
    """Describe the first of these outputs that has another number of rows than the reference; empty where none has."""
    for name, output, expected in zip(names, outputs, reference, strict=True):
        if name not in data_dependent or not expected.ndim or output.shape[1:] != expected.shape[1:]:
            continue
        if len(output) != len(expected):
            return (
                f"{name} has {counted(len(output), 'row')}, but eager gives {len(expected)}: values decide how many "
                "there are, so that one next to a threshold can be kept by one and dropped by the other"
            )
    return ""


def _worst(outputs: Sequence[Array], reference: Sequence[Array], allowed: Allowed, names: Sequence[str]) -> Agreement:
    """Compare the outputs one by one and return the greatest error with its problem."""
    compared = [compare(*pair, allowed) for pair in zip(outputs, reference, strict=True)]
    index, worst = max(enumerate(compared), key=lambda item: item[1].error, default=(0, Compared(0.0)))
    return Agreement(
        error=worst.error,
        tolerance=allowed.error,
        problem=f"{_name(names, index)} {worst.problem}" if worst.problem else "",
        differing=max((each.differing for each in compared), default=0.0),
    )


def allowed_in(precision: Precision, *, quantized: bool = False) -> Allowed:
    """Return what may differ. The arguments are those of `tolerance_of`."""
    is_exact = precision == FP32 and not quantized
    error = tolerance_of(precision, quantized=quantized)
    mask = FP16_MASK if precision == "fp16" else MASK
    return Allowed(error, integers=0.0 if is_exact else INTEGERS, step=1 if quantized else 0, mask=mask)


def tolerance_of(precision: Precision, *, quantized: bool = False) -> float:
    """Return the largest relative error allowed.

    Args:
        precision: precision of the compiled model.
        quantized: whether the graph rounds to eight bits.
    """
    return max(TOLERANCES[precision], QUANTIZED if quantized else 0.0)


def coarsest(precisions: Sequence[str], otherwise: Precision) -> Precision:
    """Return the precision of these that rounds most; `otherwise` where none of them is known."""
    known = [precision for precision in TOLERANCES if precision in precisions]
    return max(known, key=TOLERANCES.__getitem__, default=otherwise)


def unverifiable(reference: Sequence[Array], names: Sequence[str]) -> str:
    """Return why nothing can be verified with these outputs of eager PyTorch; empty where they can serve.

    An output without a finite value cannot: what goes wrong on the way to it gives NaN or infinity again. Outputs that
    are all empty cannot either: a detector that finds nothing agrees with any other that finds nothing.
    """
    if reference and not any(array.size for array in reference):
        return "every output of the reference is empty, with which nothing can be verified"
    found = ((index, without_finite(array)) for index, array in enumerate(reference))
    index, what = next(((index, what) for index, what in found if what), (0, ""))
    if not what:
        return ""
    return f"{_name(names, index)} of the reference has only {what} values, with which nothing can be verified"


def _name(names: Sequence[str], index: int) -> str:
    return names[index] if names else f"output {index}"
