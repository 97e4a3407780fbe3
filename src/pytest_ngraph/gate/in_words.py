"""Changes and confidences in words, as verdicts show them."""

from __future__ import annotations

import math

from pytest_ngraph.stats import Estimate


def change(ratio: Estimate, confidence: float | None, base: str = "") -> str:
    """Return `2.9 % slower than main (99.9 % interval 2.2 to 3.6 %)`; if faster, the interval says by how much.

    Args:
        confidence: of the interval; None where it is not known.
        base: what the ratio refers to; empty to leave it out.
    """
    sign = 100 if ratio.value >= 1 else -100
    low, high = sorted(sign * (bound - 1) for bound in ratio[1:])
    kind = f"{in_percent(confidence)} % interval " if confidence else ""
    than = f" than {base}" if base else ""
    return f"{by_how_much(ratio.value)}{than} ({kind}{tenths(low)} to {tenths(high)} %)"


def by_how_much(ratio: float) -> str:
    """Return `2.9 % slower`."""
    return f"{tenths(100 * abs(ratio - 1))} % {'slower' if ratio >= 1 else 'faster'}"


def tenths(percent: float) -> str:
    """Return a number with one decimal."""
    # Rounding may leave a negative zero; adding zero makes it a plain one.
    return f"{round(percent, 1) + 0.0:.1f}"


def in_percent(confidence: float) -> str:
    """Return a confidence in percent, with enough decimals to differ from 100."""
    decimals = max(0, math.ceil(-math.log10(100 * (1 - confidence))))
    return f"{100 * confidence:.{decimals}f}"
