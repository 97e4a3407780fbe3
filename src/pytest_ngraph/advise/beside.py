"""A candidate beside another one, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ngraph.case import Case

if TYPE_CHECKING:
    from pytest_ngraph.advise.answer import Candidate

NEAR = 0.01
"""A candidate whose time differs by less than this share is called within it."""


def apart(other: Candidate, pick: Candidate) -> str:
    """Return how far another candidate is from the pick, in words: `within 1 %`, `4 % faster, memory not measured`."""
    share = other.s_per_sample / pick.s_per_sample - 1
    how = "slower" if share > 0 else "faster"
    far = f"within {100 * NEAR:g} %" if abs(share) < NEAR else f"{100 * abs(share):.0f} % {how}"
    return ", ".join([far, *(each.text for each in other.held if each.state == "unknown")])


def named_beside(case: Case, other: Case) -> str:
    """Return a candidate's name, with what else than the compiler differs from another: `openvino at batch 4`."""
    differing = [
        text
        for text, own, others in (
            (f"batch {case.batch_size}", case.batch_size, other.batch_size),
            (case.precision, case.precision, other.precision),
            (case.device, case.device, other.device),
        )
        if own != others
    ]
    return case.compiler + (f" at {', '.join(differing)}" if differing else "")
