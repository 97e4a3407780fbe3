"""The gate: metrics against thresholds. What it calls a breach is one beyond the uncertainty of the measurement."""

from pytest_ngraph.gate.check import Check, check
from pytest_ngraph.gate.thresholds import Threshold

__all__ = ["Check", "Threshold", "check"]
