"""Metrics as text for users: scaled units, and as many digits as the interval justifies."""

from __future__ import annotations

import math

from pytest_ngraph.metrics.definitions import DEFINITIONS, Unit
from pytest_ngraph.metrics.metric import Metric
from pytest_ngraph.stats import Estimate

SECONDS = ((3600.0, "h"), (60.0, "min"), (1.0, "s"), (1e-3, "ms"), (1e-6, "us"))
SMALL = 1e-4
"""Numbers below are shown with a power of ten."""
BYTES = ((2.0**40, "TiB"), (2.0**30, "GiB"), (2.0**20, "MiB"), (2.0**10, "KiB"))


def in_words(metric: Metric) -> str:
    """Return `0.41 [0.40, 0.42]`, the value alone if it is exact, or the reason of a metric that is absent."""
    if metric.estimate is None:
        return f"absent ({metric.absent})"
    definition = DEFINITIONS.get(metric.name)
    return with_interval(metric.estimate, definition.unit if definition else "ratio")


def with_interval(estimate: Estimate, unit: Unit = "ratio") -> str:
    """Return a value and its interval, all in the unit that suits the value."""
    value, low, high = estimate
    if value == low == high:
        return quantity(value, unit)
    if math.isinf(low) or math.isinf(high):
        # Break-even with a finite low bound: the infinite high one is real, as compile time may never be paid back.
        known = math.isfinite(low) and unit == "samples"
        bounds = (quantity(bound, unit) if known or math.isfinite(bound) else "?" for bound in (low, high))
        return f"{quantity(value, unit)} [{', '.join(bounds)}]"
    factor, label = _scale(value, unit)
    scaled = [each / factor for each in estimate]
    largest, width = max(map(abs, scaled)), estimate.width / factor
    if largest < SMALL:
        digits = max(0, _magnitude(largest) - _magnitude(width / 3))
        shown, lowest, highest = (f"{each:.{digits}e}" for each in scaled)
    else:
        digits = decimals(width, value / factor)
        shown, lowest, highest = (_fixed(each, digits) for each in scaled)
    return f"{shown}{label} [{lowest}, {highest}]"


def signed(difference: Estimate, unit: Unit) -> str:
    """Return a difference with its interval, and with a plus where it is above zero: `+2.1 ms [1.9, 2.3]`."""
    return f"{'+' if difference.value > 0 else ''}{with_interval(difference, unit)}"


def quantity(value: float, unit: Unit = "ratio") -> str:
    """Return a number with its unit: `5.21 ms`, `1.20 GiB`, `88.0 %`."""
    if math.isinf(value):
        return "never" if unit == "samples" else str(value)
    if unit == "count":
        return str(round(value))
    if unit == "samples":
        return f"{round(value)} samples"
    factor, label = _scale(value, unit)
    return f"{number(value / factor)}{label}"


def number(value: float) -> str:
    """Return three significant digits, and all digits of the whole part: `0.412`, `26.2`, `1234`."""
    if abs(value) >= 1e7 or 0 < abs(value) < SMALL:
        return f"{value:.2e}"
    # Rounded first: 9.999 becomes 10.0 and must be shown with the decimals of that.
    return f"{value:.{decimals(0.0, float(f'{value:.3g}'))}f}"


def ratio(value: float) -> str:
    """Return two decimals, and of a ratio below 0.1 three significant digits: `1.65`, `0.00391`."""
    return f"{value:.2f}" if value >= 0.1 else number(value)


def decimals(width: float, value: float) -> int:
    """Return how many decimals to show: to the first digit of a third of the interval's width.

    Without an interval, to the third significant digit of the value.
    """
    return min(6, max(0, -_magnitude(width / 3) if width else 2 - _magnitude(value)))


def _fixed(value: float, digits: int) -> str:
    # Rounding may give a negative zero. Adding zero makes it positive.
    return f"{round(value, digits) + 0.0:.{digits}f}"


def _magnitude(value: float) -> int:
    return math.floor(math.log10(abs(value))) if value else 0


def _scale(value: float, unit: Unit) -> tuple[float, str]:
    if unit == "s":
        return _largest(value, SECONDS)
    if unit == "B":
        return _largest(value, BYTES) if abs(value) >= 1024 else (1.0, " B")
    if unit in ("ratio", "count"):
        return 1.0, ""
    return 1.0, f" {unit}"


def _largest(value: float, scales: tuple[tuple[float, str], ...]) -> tuple[float, str]:
    factor, label = next((scale for scale in scales if abs(value) >= scale[0]), scales[-1])
    return factor, f" {label}"
