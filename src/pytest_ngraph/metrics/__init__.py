"""Metrics: pure functions from records to numbers with 95 % intervals, after the study's section V-A4.

Records enter `compute`; a `Metrics` leaves. A cell is the result of one case. A metric that lacks a cell (no batch size
1, no identity, a failed case) is absent and says why; nothing is guessed. `definitions.py` lists all metrics with their
formulas: open it first, then `compute.py`. All cells are computed at once, as columns of NumPy arrays.
"""

from pytest_ngraph.metrics.compute import compute
from pytest_ngraph.metrics.definitions import DEFINITIONS
from pytest_ngraph.metrics.metric import Inversion, Metric, Metrics, Scope

__all__ = ["DEFINITIONS", "Inversion", "Metric", "Metrics", "Scope", "compute"]
