"""What follows from the records of a session: metrics, verdicts, and what fails."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from pytest_ngraph.case import Case
from pytest_ngraph.session.options import Options
from pytest_ngraph.session.results import ExtraMetrics, Results
from pytest_ngraph.session.thresholds import SessionThresholds

if TYPE_CHECKING:
    from pytest_ngraph.gate import Check, Threshold
    from pytest_ngraph.gate.judge import Judge
    from pytest_ngraph.gate.metric_verdict import MetricVerdict
    from pytest_ngraph.gate.verdict import Verdict
    from pytest_ngraph.metrics import Metrics
    from pytest_ngraph.record import Record


class Conclusion(NamedTuple):
    """What follows from all records of a session. breaches: what no test has failed for, a line each. mistakes: those
    of them that are in the users' own metrics."""

    metrics: Metrics
    checks: list[Check]
    verdicts: list[Verdict]
    metric_verdicts: list[MetricVerdict]
    breaches: list[str]
    mistakes: list[str]

    @property
    def has_regressed(self) -> bool:
        """Whether any case or metric has."""
        names = {each.name for each in self.verdicts} | {each.name for each in self.metric_verdicts}
        return "regressed" in names


class Judgement:
    """judges: what records are compared with. extra_metrics: the users' own metrics for some records.

    conclusion: None before the end, and where nothing was measured.
    """

    def __init__(self, options: Options, judges: Sequence[Judge], extra_metrics: ExtraMetrics) -> None:
        self.judges = judges
        self.conclusion: Conclusion | None = None
        self._gate = options.gate
        self._is_smoke = options.settings.smoke
        self._held = SessionThresholds(options.thresholds)
        self._measured = Results(extra_metrics)
        self._told: set[tuple[str, str]] = set()

    @property
    def records(self) -> dict[Case, Record]:
        """Those by now, by case."""
        return self._measured.records

    def hold(self, case: Case, nodeid: str, thresholds: Iterable[Threshold]) -> None:
        """Hold this case to thresholds that a test has for it."""
        self._held.add(case, nodeid, thresholds)

    def hold_to_bases(self, cases: Sequence[Case]) -> None:
        """These will be measured, and are held to the thresholds that say how much worse than a base's a metric may be.
        Raises `UsageError` where there is no base."""
        self._held.to_bases(cases, self.judges, self._gate)

    @property
    def alone(self) -> set[Case]:
        """The cases that have to be launched alone, at head and base."""
        return self._held.alone

    def enter(self, record: Record) -> None:
        """Let a record take part in what follows from all of them."""
        self._measured.enter(record)
        for judge in self.judges:
            judge.judge(record)

    def breaches_of(self, case: Case, nodeid: str) -> list[str]:
        """Thresholds that this case breaches in this test, as far as what is measured by now can tell."""
        if self._is_smoke:
            return []
        return self._held.breaches_of(case, nodeid, lambda: self._metrics_around(case))

    def verdicts_of(self, case: Case) -> list[Verdict]:
        """The verdicts on a case, one for each base that it was compared with, as far as what is measured by now can
        tell."""
        return [judge.verdicts[case] for judge in self.judges if case in judge.verdicts]

    def metric_verdicts_of(self, case: Case) -> list[MetricVerdict]:
        """The verdicts on the case's own metrics, likewise."""
        return self._held.verdicts_of(case, lambda: self._metrics_around(case))

    def fails(self, verdict: Verdict | MetricVerdict) -> bool:
        """Whether a verdict fails the test that asks, which answers for it from then on."""
        if verdict.name not in self._gate.failing:
            return False
        self._told.add(verdict.subject)
        return True

    def conclude(self) -> list[str]:
        """Compute what follows from all records. Returns what no test has failed for: it belongs to several tests,
        needed a later one, or to one that ended before it could tell."""
        missing = [verdict for judge in self.judges for verdict in judge.conclude()]
        if self._is_smoke or not (self.records or missing):
            return []
        metrics = self._measured.metrics()
        verdicts = [verdict for judge in self.judges for verdict in judge.verdicts.values()]
        held = self._held.conclude(metrics)
        breaches = [
            *self._measured.mistakes,
            *held.breaches,
            *(each.text for each in held.verdicts if self._is_untold(each)),
            *(f"{each.case.id} {each.text}" for each in [*filter(self._is_untold, verdicts), *missing]),
        ]
        self.conclusion = Conclusion(metrics, held.checks, verdicts, held.verdicts, breaches, self._measured.mistakes)
        return breaches

    def _metrics_around(self, case: Case) -> Metrics:
        return self._measured.metrics_around(case, own=self._held.names_own)

    def _is_untold(self, verdict: Verdict | MetricVerdict) -> bool:
        return verdict.name in self._gate.failing and verdict.subject not in self._told
