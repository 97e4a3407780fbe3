"""What follows from the records of a session: metrics, verdicts, and what fails."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from pytest_ngraph.against.options import Policy
from pytest_ngraph.case import Case
from pytest_ngraph.errors import UsageError
from pytest_ngraph.session.options import Options
from pytest_ngraph.session.results import ExtraMetrics, Results
from pytest_ngraph.session.thresholds import SessionThresholds

if TYPE_CHECKING:
    from pytest_ngraph.bench.asked import Asked
    from pytest_ngraph.bench.rounds.goal import Limit
    from pytest_ngraph.gate import Check, MetricVerdict, Threshold, Verdict
    from pytest_ngraph.gate.judge import Judge
    from pytest_ngraph.metrics import Metrics
    from pytest_ngraph.record import Record


ACCEPT_BROKEN_BASE = "To pass anyway: --ngraph-broken-base=warn."


class Conclusion(NamedTuple):
    """What follows from all records of a session.

    Attributes:
        unanswered: what no test has failed for, a line each.
        mistakes: those of these lines that are about the users' own metrics.
    """

    metrics: Metrics
    checks: list[Check]
    verdicts: list[Verdict]
    metric_verdicts: list[MetricVerdict]
    unanswered: list[str]
    mistakes: list[str]

    @property
    def worse(self) -> str:
        """What the run has that its base had not, in words: a regression, a lost case; empty for nothing."""
        names = {each.name for each in self.verdicts} | {each.name for each in self.metric_verdicts}
        texts = {"regressed": "a regression", "lost": "a lost case"}
        return " and ".join(text for name, text in texts.items() if name in names)


class Judgement:
    """The records of a session, what they are compared with, and the thresholds that they are held to.

    Args:
        judges: bases that records are compared with.
        extra_metrics: computes the users' own metrics from some records.
    """

    def __init__(self, options: Options, judges: Sequence[Judge], extra_metrics: ExtraMetrics) -> None:
        self.judges = judges
        self._gate = options.gate
        self._goal = "precision" if options.settings.smoke else options.settings.goal
        self._is_smoke = options.settings.smoke
        self._thresholds = SessionThresholds(
            options.thresholds,
            tails=options.tails,
            serving=options.serving,
            profiles=options.gate.explain == "all",
            figures=options.reads_figures,
        )
        self._results = Results(extra_metrics, options.store)
        self._answered: set[tuple[str, str]] = set()

    @property
    def records(self) -> dict[Case, Record]:
        """The records so far, by case."""
        return self._results.records

    def hold(self, case: Case, nodeid: str, thresholds: Iterable[Threshold]) -> None:
        """Hold this case to thresholds that a test has for it."""
        self._thresholds.add(case, nodeid, thresholds)

    def hold_to_bases(self, cases: Sequence[Case]) -> None:
        """Hold the cases that will be measured to thresholds that compare a metric with a base's.

        Raises `UsageError` where there is such a threshold and no base, and where the goal is `threshold` and no limit
        is about rounds.
        """
        self._thresholds.to_bases(cases, self.judges, self._gate)
        if self._goal == "threshold" and cases and not self._thresholds.round_limits:
            raise UsageError(
                "--ngraph-goal=threshold: no threshold limits throughput, latency_s or speedup. Give one, such as "
                "--ngraph-fail-on='speedup<1.2', or another goal: rank, best, precision."
            )

    @property
    def asked(self) -> Asked:
        """What has to be measured besides the rounds of the cases."""
        return self._thresholds.asked

    @property
    def knowledge_of_limits(self) -> tuple[Mapping[Case, Sequence[Limit]], int]:
        """The limits on metrics that follow from rounds, by case, and how many comparisons share the error's chance."""
        return self._thresholds.round_limits, self._thresholds.family

    def add(self, record: Record) -> None:
        """Add a record to the results, and compare it with each base."""
        self._results.add(record)
        for judge in self.judges:
            judge.judge(record)

    def breaches_of(self, case: Case, nodeid: str) -> list[str]:
        """Return the limits that this case breaches in this test, from what is measured so far."""
        if self._is_smoke:
            return []
        return self._thresholds.breaches_of(case, nodeid, lambda: self._metrics_around(case))

    def verdicts_of(self, case: Case) -> list[Verdict]:
        """Return the verdicts on a case so far, one for each base that it was compared with."""
        return [judge.verdicts[case] for judge in self.judges if case in judge.verdicts]

    def metric_verdicts_of(self, case: Case) -> list[MetricVerdict]:
        """Return the verdicts on the case's own metrics so far, one for each base."""
        return self._thresholds.verdicts_of(case, lambda: self._metrics_around(case))

    def fails(self, verdict: Verdict | MetricVerdict) -> bool:
        """Whether a verdict fails the test that asks. From then on that test answers for it."""
        if self._policy(verdict) != "fail":
            return False
        self._answered.add(verdict.subject)
        return True

    def warns(self, verdict: Verdict | MetricVerdict) -> bool:
        """Whether the test that asks gets a warning for a verdict."""
        return self._policy(verdict) == "warn"

    def _policy(self, verdict: Verdict | MetricVerdict) -> Policy:
        return self._gate.policy(verdict.name, broken=verdict.broken)

    def conclude(self, *, whole: bool = True) -> Conclusion | None:
        """Judge all records together. Return None where nothing was measured or missed.

        No test answers for what belongs to several tests, for what needed a later test, and for what belongs to a
        test that ended before the verdict was known.

        Args:
            whole: whether the session went to its end.
        """
        missing = [verdict for judge in self.judges for verdict in judge.conclude(whole=whole)]
        if self._is_smoke or not (self.records or missing):
            return None
        metrics = self._results.metrics()
        verdicts = [verdict for judge in self.judges for verdict in judge.verdicts.values()]
        held = self._thresholds.conclude(metrics)
        unanswered = [
            *self._results.mistakes,
            *held.breaches,
            *(each.text for each in held.verdicts if self._is_unanswered(each)),
            *(f"{each.case.id} {each.text}" for each in [*filter(self._is_unanswered, verdicts), *missing]),
        ]
        return Conclusion(metrics, held.checks, verdicts, held.verdicts, unanswered, self._results.mistakes)

    def _metrics_around(self, case: Case) -> Metrics:
        return self._results.metrics_around(case, own=self._thresholds.names_own)

    def _is_unanswered(self, verdict: Verdict | MetricVerdict) -> bool:
        return self._policy(verdict) == "fail" and verdict.subject not in self._answered
