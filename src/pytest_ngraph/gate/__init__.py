"""The gate: metrics against thresholds, and head against base. What it calls a breach or a regression is one beyond the
uncertainty of the measurement."""

from pytest_ngraph.gate.baseline import compare
from pytest_ngraph.gate.calibration import Calibration, calibrate, estimate_spread
from pytest_ngraph.gate.check import Check, check
from pytest_ngraph.gate.decision import Decision, decide, is_enough
from pytest_ngraph.gate.holm import holm
from pytest_ngraph.gate.metric_verdict import MetricVerdict
from pytest_ngraph.gate.pooling import Prior
from pytest_ngraph.gate.rule import Rule
from pytest_ngraph.gate.thresholds import Threshold
from pytest_ngraph.gate.verdict import Verdict, VerdictName, missing, verdict

__all__ = [
    "Calibration",
    "Check",
    "Decision",
    "MetricVerdict",
    "Prior",
    "Rule",
    "Threshold",
    "Verdict",
    "VerdictName",
    "calibrate",
    "check",
    "compare",
    "decide",
    "estimate_spread",
    "holm",
    "is_enough",
    "missing",
    "verdict",
]
