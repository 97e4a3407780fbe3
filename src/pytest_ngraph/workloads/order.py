"""Bring outputs of data-dependent size into the order of the reference.

A detector returns boxes, scores and labels of what it found, best first. Where two scores are next to equal, rounding
decides which comes first, so that such outputs are compared as sets: row by row, each with its nearest. If a detector
keeps only the best hundred, rounding also decides which of those that tie with the last are kept (`without_ties`).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

import numpy as np

from pytest_ngraph.artifact import Array

Groups = list[list[int]]
MOST_ROWS = 4096
"""More are compared in the order that they have: comparing all pairs would take too long."""
MOST_TIED = 0.2
"""Share of the rows that may be others because they tie with the last one: enough is compared even so."""
LAST_KEY = re.compile(r"(\[[^\[\]]*\]|\.\w+)$")


def groups_of(reference: Sequence[Array], names: Sequence[str], data_dependent: Collection[str]) -> Groups:
    """Return the indices of the outputs whose rows belong together.

    These stand side by side in one dict, tuple or dataclass and have equally many rows, as boxes and their scores do.

    Args:
        reference: eager PyTorch's outputs.
        names: the path of each.
        data_dependent: those of them whose number of rows values decide. No others are in a group.
    """
    groups: dict[tuple[str, int], list[int]] = {}
    for index, (name, array) in enumerate(zip(names, reference, strict=True)):
        if name in data_dependent and array.ndim and 1 < len(array) <= MOST_ROWS:
            groups.setdefault((LAST_KEY.sub("", name), len(array)), []).append(index)
    return list(groups.values())


def in_order_of(reference: Sequence[Array], outputs: Sequence[Array], groups: Groups) -> list[Array]:
    """Return the outputs with the rows of each group in the order of the reference.

    Groups whose sizes differ from the reference's keep their order.

    Args:
        reference: eager PyTorch's outputs.
        outputs: the compiled model's outputs.
        groups: what `groups_of` returns.
    """
    ordered = list(outputs)
    for group in groups:
        if all(reference[index].shape == outputs[index].shape for index in group):
            order = _nearest([reference[index] for index in group], [outputs[index] for index in group])
            for index in group:
                ordered[index] = outputs[index][order]
    return ordered


def without_ties(reference: Sequence[Array], outputs: Sequence[Array], groups: Groups, tolerance: float) -> list[Array]:
    """Return the outputs with the reference's rows where rounding decided which rows were kept.

    Such a row differs from the reference's, and the scores of both are within the tolerance of the lowest that was
    kept. A score is a floating-point output with one value a row, which never rises. Only a few rows may be such.

    Args:
        outputs: in the order of the reference.
        tolerance: relative to the largest value of each output.
    """
    found = list(outputs)
    for group in groups:
        scores = [index for index in group if _falls(reference[index])]
        if not scores or any(reference[index].shape != outputs[index].shape for index in group):
            continue
        expected, given = ([arrays[index] for index in group] for arrays in (reference, outputs))
        tied = np.abs(_rows(expected, expected) - _rows(given, expected)).max(axis=1) > tolerance
        for index in scores:
            reach = tolerance * np.abs(reference[index]).max()
            for array in (reference[index], outputs[index]):
                tied &= array <= array.min() + reach
        if 0 < np.count_nonzero(tied) <= MOST_TIED * len(tied):
            for index in group:
                found[index] = outputs[index].copy()
                found[index][tied] = reference[index][tied]
    return found


def undecided(reference: Sequence[Array], outputs: Sequence[Array], groups: Groups, tolerance: float) -> list[int]:
    """Return the indices of outputs whose rows rounding alone chooses: those beside scores that all tie.

    A detector without trained weights has the same score everywhere, and keeps any hundred of its thousands of boxes.
    """
    found: list[int] = []
    for group in groups:
        scores = [index for index in group if _falls(reference[index])]
        reach = {index: tolerance * np.abs(reference[index]).max() for index in scores}
        if scores and all(
            arrays[index].shape == reference[index].shape and np.ptp(arrays[index]) <= reach[index]
            for index in scores
            for arrays in (reference, outputs)
        ):
            found += [index for index in group if index not in scores]
    return found


def _falls(array: Array) -> bool:
    return array.ndim == 1 and array.dtype.kind == "f" and bool(np.all(np.diff(array) <= 0))


def _nearest(reference: Sequence[Array], outputs: Sequence[Array]) -> list[int]:
    """Return for each row of the reference the row of the outputs nearest to it, each at most once.

    Rows that are equal in place stay there, so that only what is out of order is searched.
    """
    expected, found = _rows(reference, reference), _rows(outputs, reference)
    order = list(range(len(expected)))
    distance = np.abs(expected - found).max(axis=1)
    moved = np.flatnonzero(~(distance <= np.finfo(np.float32).eps))
    free = list(moved)
    for row in moved:
        distances = np.abs(found[free] - expected[row]).max(axis=1)
        nearest = int(np.argmin(np.where(np.isnan(distances), np.inf, distances)))
        order[row] = int(free.pop(nearest))
    return order


def _rows(arrays: Sequence[Array], scales: Sequence[Array]) -> Array:
    """Return the rows of all arrays side by side, each in units of the largest absolute value of its scale."""
    parts = []
    for array, scale in zip(arrays, scales, strict=True):
        finite = np.abs(scale[np.isfinite(scale)]).astype(np.float64)
        largest = finite.max(initial=0.0) or 1.0
        parts.append(array.reshape(len(array), -1).astype(np.float64) / largest)
    return np.concatenate(parts, axis=1)
