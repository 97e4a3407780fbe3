"""What a run comes to: its results and verdicts, from where and how; as data that stay readable for other tools."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pytest_ngraph.case import Case
from pytest_ngraph.gate import MetricVerdict, Verdict
from pytest_ngraph.metrics import Metric, Metrics
from pytest_ngraph.metrics.cells import why_not_measured
from pytest_ngraph.record import Record
from pytest_ngraph.store import Run

SCHEMA = 1
"""Rises when a key changes its meaning or goes; new keys may come without it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """A run at its end.

    metrics: of the run's records. bases: what it was compared with, as people read it (`main at 1a2b3c4`). head:
    likewise; empty where that is not known.
    unmeasured: cases that a test was to ask for, had the run not ended before. breaches: of thresholds, a line each.
    problems: what fails the run besides, a line each.
    command: what repeats the run. notes: sentences on the run as a whole.
    """

    run: Run
    metrics: Metrics
    verdicts: Sequence[Verdict] = ()
    metric_verdicts: Sequence[MetricVerdict] = ()
    unmeasured: Sequence[Case] = ()
    breaches: Sequence[str] = ()
    problems: Sequence[str] = ()
    bases: Sequence[str] = ()
    head: str = ""
    command: str = ""
    notes: Sequence[str] = ()

    @property
    def failed(self) -> list[Record]:
        """Records of cases that were tried and could not be measured."""
        return [each for each in self.run.records if each.outcome != "skipped" and why_not_measured(each)]

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON-ready data, documented in docs/gate-in-ci.md. What is not finite is null."""
        data = {
            "schema": SCHEMA,
            "run": self.run.id,
            "bases": list(self.bases),
            "head": self.head or None,
            "command": self.command,
            "environment": self.run.environment,
            "environments": self.run.environments,
            "counts": dict(Counter(verdict.name for verdict in self.verdicts)),
            "verdicts": [{"id": verdict.case.id} | verdict.to_dict() for verdict in self.verdicts],
            "metrics": [verdict.to_dict() for verdict in self.metric_verdicts],
            "results": [self._result(record) for record in self.run.records],
            "unmeasured": [case.id for case in self.unmeasured],
            "breaches": list(self.breaches),
            "problems": list(self.problems),
            "notes": list(self.notes),
        }
        finite: dict[str, Any] = _finite(data)
        return finite

    def _result(self, record: Record) -> dict[str, Any]:
        metrics = self.metrics[record.case]
        return {
            "id": record.case.id,
            "case": record.case.to_dict(),
            "nodeid": record.nodeid,
            "outcome": record.outcome,
            "problem": why_not_measured(record),
            **{name: _estimate(metrics[name]) for name in ("throughput", "latency_s", "speedup", "compile_s")},
        }


def _estimate(metric: Metric) -> dict[str, float] | None:
    return metric.estimate._asdict() if metric.estimate else None


def _finite(data: Any) -> Any:
    """The same without infinities, which JSON does not have."""
    if isinstance(data, dict):
        return {key: _finite(value) for key, value in data.items()}
    if isinstance(data, list):
        return [_finite(value) for value in data]
    return None if isinstance(data, float) and not math.isfinite(data) else data
