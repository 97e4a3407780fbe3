"""The result of a run: one object for the terminal, the summary and the report folder; and as data for other tools."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_ngraph.case import Case
from pytest_ngraph.costs import COSTS
from pytest_ngraph.gate import Check, MetricVerdict, Verdict
from pytest_ngraph.load import Load
from pytest_ngraph.metrics import Metric, Metrics
from pytest_ngraph.metrics.cells import why_not_measured
from pytest_ngraph.metrics.load import MAX_RATE, percentiles_over_rate
from pytest_ngraph.metrics.percentiles import PERCENTILES
from pytest_ngraph.record import NOT_FAILED, Record
from pytest_ngraph.stats import without_infinities
from pytest_ngraph.store import Run

SCHEMA = 1
"""Rises when a key is removed or changes its meaning; new keys may come without it."""

NOT_ASKED_FOR = "no test asked (skipped, or failed before)"
"""Why a case has no record in a run that went to its end."""
SHOWN = ("throughput", "latency_s", *PERCENTILES, "speedup", "compile_s")
"""The metrics of a case that the data have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """A run at its end: what every report of it shows.

    Attributes:
        run: records of the run, and the machines that it measured on.
        metrics: metrics of these records.
        checks: limits, each against a metric.
        verdicts: cases compared with a base.
        metric_verdicts: metrics compared with a base's.
        unanswered: what fails the run because it has failed no test, a line each.
        problems: what else fails the run, a line each.
        unmeasured: cases that a test was to ask for, and that have no record.
        whole: whether the run went to its end, so that no test asked for those: they were skipped, or failed before.
        bases: what the run was compared with (`main at 1a2b3c4`), and what else than the code differs there (empty
            where nothing does).
        notes: sentences on the run as a whole.
        saved: what became of the run as a stored baseline, in a sentence; empty where it was to be none.
        head: revision that was measured (`feature at 5d6e7f8`); empty where it is not known.
        command: shell command that repeats the run, the values of our options behind a `=`.
        commits: the head's commits that its base does not have, without merges, oldest first, each as
            `5d6e7f8 Widen the layers`. Empty where that is not known.
        merges: how many merges the head has besides.
        lacking: how many commits the base has that the head does not have.
        ends: the commits of base and head; empty where they are not known.
        history: address of the page that `pytest-ngraph history` writes; empty for none.
    """

    run: Run
    metrics: Metrics
    checks: Sequence[Check] = ()
    verdicts: Sequence[Verdict] = ()
    metric_verdicts: Sequence[MetricVerdict] = ()
    unanswered: Sequence[str] = ()
    problems: Sequence[str] = ()
    unmeasured: Sequence[Case] = ()
    whole: bool = False
    bases: Mapping[str, str] = field(default_factory=dict)
    notes: Sequence[str] = ()
    saved: str = ""
    head: str = ""
    command: str = ""
    commits: Sequence[str] = ()
    merges: int = 0
    lacking: int = 0
    ends: Sequence[str] = ()
    history: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to show."""
        return not (self.run.records or self.verdicts)

    @property
    def fails(self) -> bool:
        """Whether the run fails, whatever its tests came to."""
        return bool(self.unanswered or self.problems)

    @property
    def breaches(self) -> list[str]:
        """Breached limits, a line each."""
        return [each.text for each in self.checks if each.outcome == "breached"]

    @property
    def remarks(self) -> list[str]:
        """What a reader of the verdicts must know, a sentence each."""
        return [*filter(None, self.bases.values()), *self.notes]

    @property
    def failed(self) -> list[Record]:
        """Records of cases that were tried and could not be measured."""
        return [each for each in self.run.records if each.outcome not in NOT_FAILED and why_not_measured(each)]

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON-ready data, documented in docs/gate-in-ci.md. What is not finite is null."""
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
            "breaches": self.breaches,
            "problems": list(self.problems),
            "notes": self.remarks,
        }
        finite: dict[str, Any] = without_infinities(data)
        return finite

    def _result(self, record: Record) -> dict[str, Any]:
        metrics = self.metrics[record.case]
        return {
            "id": record.case.id,
            "case": record.case.to_dict(),
            "nodeid": record.nodeid,
            "outcome": record.outcome,
            "problem": why_not_measured(record),
            **{name: _estimate(metrics[name]) for name in SHOWN},
            "score": record.score,
            "load": _load(record.load, metrics[MAX_RATE]) if record.load else None,
            "serving": {name: _estimate(metrics[name]) for name in COSTS} if record.serving else None,
        }


def _load(load: Load, highest: Metric) -> dict[str, Any]:
    return {
        "limit_s": load.limit_s,
        "batch_wait_s": load.batch_wait_s,
        "generator": load.generator,
        "max_rate": _estimate(highest),
        "absent": highest.absent,
        "rates": percentiles_over_rate(load),
    }


def _estimate(metric: Metric) -> dict[str, float] | None:
    return metric.estimate._asdict() if metric.estimate else None
