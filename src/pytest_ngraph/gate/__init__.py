"""The gate: compares metrics with thresholds, and head with base.

In: metrics and thresholds (`check`, with `limits.py`), launches of head and base together (`decision.py`, `verdict`),
a run's records and a stored baseline's (`compare`), comparisons of base with base (`calibrate`).
Out: `Check`, `Verdict`, `MetricVerdict` and `Calibration`, as data and as one line of text. It calls a breach or a
regression only where the evidence exceeds the uncertainty of the measurement.
It measures nothing and knows no pytest. Read `decision.py` first (is head slower than base?), then `rule.py` (margin
and levels) and `judge.py` (the interface that a session uses). `stored/` is the gate against runs of other days.
"""

from pytest_ngraph.gate.calibration import Calibration, calibrate
from pytest_ngraph.gate.check import Check, check
from pytest_ngraph.gate.decision import is_enough
from pytest_ngraph.gate.holm import holm
from pytest_ngraph.gate.metric_verdict import MetricVerdict
from pytest_ngraph.gate.rule import Rule
from pytest_ngraph.gate.stored.baseline import compare
from pytest_ngraph.gate.thresholds import Threshold
from pytest_ngraph.gate.verdict import Verdict, VerdictName, missing, verdict

__all__ = [
    "Calibration",
    "Check",
    "MetricVerdict",
    "Rule",
    "Threshold",
    "Verdict",
    "VerdictName",
    "calibrate",
    "check",
    "compare",
    "holm",
    "is_enough",
    "missing",
    "verdict",
]
