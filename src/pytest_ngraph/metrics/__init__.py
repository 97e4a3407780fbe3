"""Metrics: records -> numbers with 95 % intervals. Pure functions of what was measured, after the study's section V-A4.

A metric that lacks a cell (no batch size 1, no identity, a failed case) is absent and says why; nothing is guessed.
"""

from pytest_ngraph.metrics.compute import compute
from pytest_ngraph.metrics.definitions import DEFINITIONS, Definition
from pytest_ngraph.metrics.metric import Inversion, Metric, Metrics, Scope

__all__ = ["DEFINITIONS", "Definition", "Inversion", "Metric", "Metrics", "Scope", "compute"]
