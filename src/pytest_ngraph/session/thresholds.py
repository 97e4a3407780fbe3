"""The thresholds of a session, and how its metrics compare with them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from pytest_ngraph.against.options import GateOptions
from pytest_ngraph.bench.asked import NOTHING, Asked
from pytest_ngraph.case import Case
from pytest_ngraph.costs import COSTS
from pytest_ngraph.errors import UsageError

if TYPE_CHECKING:
    from pytest_ngraph.bench.rounds.goal import Limit
    from pytest_ngraph.gate import Check, MetricVerdict, Threshold
    from pytest_ngraph.gate.judge import Judge
    from pytest_ngraph.gate.metric_gate import MetricGate
    from pytest_ngraph.metrics import Metric, Metrics, Scope


NOT_OF_ROUNDS = frozenset(
    (*COSTS, "max_rate", "p50_s", "p90_s", "p95_s", "p99_s", "compile_s", "score", "cpu_percent", "cpu_reduction",
     "worker_memory_bytes", "device_memory_bytes")
)  # fmt: skip
"""Metrics of a case that more rounds do not make surer."""
COMPARED = {"rtr": "rtr", "ase": "ase", "bsr": "bsr", "break_even": "speedup"}
"""Metrics of a case that follow from the rounds of others, too, each with the one that follows from the same."""
OF_COMPILING = ("compile_s", "break_even")
"""Metrics that need the seconds to compile."""


class Outcome(NamedTuple):
    """All thresholds against all metrics of a session.

    Attributes:
        checks: limits, each against a metric.
        verdicts: metrics compared with a base's.
        breaches: breached limits that no test has failed for, a line each.
    """

    checks: list[Check]
    verdicts: list[MetricVerdict]
    breaches: list[str]


class SessionThresholds:
    """Holds metrics to limits, and to what they were at the bases that the session compares with.

    Args:
        thresholds: those that apply to the whole run.
        tails: whether single calls of every case are timed, whatever the thresholds are.
        serving: whether the costs of serving every case are measured, likewise.
        profiles: whether every case is profiled.
        figures: whether something reads the figures of every case, besides thresholds and the options above.

    Attributes:
        asked: what has to be measured of the cases besides their rounds, once `to_bases` was called.
    """

    def __init__(
        self,
        thresholds: Iterable[Threshold],
        *,
        tails: bool = False,
        serving: bool = False,
        profiles: bool = False,
        figures: bool = False,
    ) -> None:
        self._everywhere = list(thresholds)
        self._tails = tails
        self._serving = serving
        self._profiles = profiles
        self._figures = figures
        self.asked = NOTHING
        self._own: dict[Case, dict[str, list[Threshold]]] = defaultdict(lambda: defaultdict(list))
        self._gates: list[MetricGate] = []
        self._answered_by: dict[str, str] = {}
        self._cases: Sequence[Case] = ()

    def add(self, case: Case, nodeid: str, thresholds: Iterable[Threshold]) -> None:
        """Hold a case to thresholds that a test has for it."""
        if given := list(thresholds):  # a case without thresholds needs no entry
            self._own[case][nodeid] += given

    def to_bases(self, cases: Sequence[Case], judges: Iterable[Judge], options: GateOptions) -> None:
        """Find out which metrics of the cases that will be measured are held to a base's, and what they need.

        Raises `UsageError` when a threshold needs a base, and the options give none.
        """
        self._cases = cases
        self.asked = self._of_each()
        relative = [(threshold, owner) for threshold, owner in self._every if threshold.is_relative]
        if not relative or options.calibrate:  # with itself as the base, a case can only show noise
            return
        if not options.compares_with_other_code:
            raise UsageError(
                f"threshold '{relative[0][0]}' compares with a base, which this run does not have. Give one "
                "(--ngraph-against, --ngraph-against-python or --ngraph-compare), or an absolute limit, such as "
                "'throughput<100'."
            )
        from pytest_ngraph.gate.metric_gate import MetricGate, gated

        self._gates = [MetricGate(judge) for judge in judges]
        metrics = gated(relative, cases)
        for gate in self._gates:
            gate.expect(metrics)
        self.asked = replace(
            self.asked,
            alone={case for gate in self._gates for case in gate.alone},
            tails={case for gate in self._gates for case in gate.tails},
        )

    def _of_each(self) -> Asked:
        """Return what is measured beyond rounds, with or without a base."""
        every = set(self._cases)
        calls, served = set[Case](), set[Case]()
        if self.is_any:
            from pytest_ngraph.gate.check import need_calls, need_costs

            calls = need_calls(self._every, self._cases)
            served = need_costs(self._every, self._cases)
        needs_compile_s = any(threshold.metric in OF_COMPILING for threshold, _ in self._every)
        reads_figures = self._figures or self._tails or self._serving or self.is_any
        return Asked(
            calls=every if self._tails else calls,
            served=every if self._serving else served,
            profiled=every if self._profiles else set(),
            compile_s=every if needs_compile_s else set(),
            figures=every if reads_figures else set(),
        )

    @property
    def _every(self) -> list[tuple[Threshold, Case | None]]:
        """All thresholds, each with the case that it belongs to; None where it applies to the whole run."""
        own = [(threshold, case) for case in self._own for threshold in self._own_of(case)]
        return [*((threshold, None) for threshold in self._everywhere), *own]

    @property
    def round_limits(self) -> dict[Case, list[Limit]]:
        """The limits on metrics that follow from rounds, by case, for a goal that ends with them.

        One that spans cases counts for all of them. One on a metric that compares with other cases counts for those,
        too; for identity's part in speedups, the goal itself sees to it.
        """
        from pytest_ngraph.bench.rounds.goal import Limit
        from pytest_ngraph.gate.check import is_of_identity
        from pytest_ngraph.metrics import Metric
        from pytest_ngraph.metrics.sensitivity import sensitivities

        named = {threshold.metric for threshold, _ in self._every} & COMPARED.keys()
        others: dict[tuple[str, Case | Scope], Iterable[Case]] = {}
        if named:
            others = {(each.name, each.scope): each.weights for each in sensitivities(self._cases)}
        found: dict[Case, dict[Limit, None]] = defaultdict(dict)
        for threshold, owner in self._every:
            if threshold.is_relative or threshold.metric in NOT_OF_ROUNDS:
                continue
            for case in self._cases if owner is None else [owner]:
                is_exact = is_of_identity(threshold.metric, case)
                if not threshold.is_of_cases or (threshold.selects(Metric(threshold.metric, case)) and not is_exact):
                    limit = Limit(metric=threshold.metric, bound=threshold.bound)
                    for each in (case, *others.get((COMPARED.get(threshold.metric, ""), case), ())):
                        found[each][limit] = None
        return {case: list(limits) for case, limits in found.items()}

    @cached_property
    def family(self) -> int:
        """The number of comparisons with limits that the session was to make when the first of them was due."""
        from pytest_ngraph.gate.check import count_limits

        return count_limits(self._every, self._cases)

    @property
    def is_any(self) -> bool:
        """Whether there is any threshold."""
        return bool(self._everywhere or self._own)

    @property
    def names_own(self) -> bool:
        """Whether a threshold is about a metric of the users' own."""
        own = (threshold for tests in self._own.values() for given in tests.values() for threshold in given)
        return any("." in threshold.metric for threshold in chain(self._everywhere, own))

    def breaches_of(self, case: Case, nodeid: str, metrics: Callable[[], Metrics]) -> list[str]:
        """Return the limits that a case breaches in a test: those of the run, and the test's own.

        A breached limit of the run fails only the first test of the case.

        Args:
            metrics: computes the case's metrics from the records so far.
        """
        everywhere = _limits(self._everywhere)
        own = _limits(self._own.get(case, {}).get(nodeid, []))
        if not (everywhere or own):
            return []
        from pytest_ngraph.gate import check

        known = metrics()
        of_run = self._unanswered(check(everywhere, known, case=case, limits=self.family), nodeid)
        found = check(own, known, case=case, limits=self.family)
        of_test = [each.text for each in found if each.outcome == "breached"]
        breaches = list(dict.fromkeys([*of_run, *of_test]))
        self._answered_by |= dict.fromkeys(breaches, nodeid)
        return breaches

    def verdicts_of(self, case: Case, metrics: Callable[[], Metrics]) -> list[MetricVerdict]:
        """Return the verdicts on a case's own metrics, one for each base.

        Args:
            metrics: computes the case's metrics from the records so far.
        """
        gates = [gate for gate in self._gates if gate.holds(case)]
        return [verdict for gate in gates for verdict in gate.judge(case, metrics())]

    def conclude(self, metrics: Metrics) -> Outcome:
        """Hold all metrics to all thresholds."""
        checks = self._checks(metrics)
        for gate in self._gates:
            gate.conclude(metrics)
        return Outcome(checks, [verdict for gate in self._gates for verdict in gate.verdicts], self._unanswered(checks))

    def _checks(self, metrics: Metrics) -> list[Check]:
        """Check every threshold against every metric that it selects."""
        from pytest_ngraph.gate import check

        of_owners = [
            check(self._own_of(case), metrics, case=case, limits=self.family)
            for case in self._own
            if case in metrics.by_case
        ]
        of_run = check(self._everywhere, metrics, limits=self.family)
        return [*of_run, *(c for checks in of_owners for c in checks if c.case), *self._unmatched(metrics)]

    def _unmatched(self, metrics: Metrics) -> list[Check]:
        """Return the thresholds of tests that select nothing in any of their cases: they would never fail."""
        from pytest_ngraph.gate import check

        owners: dict[Threshold, dict[Case, Mapping[str, Metric]]] = defaultdict(dict)
        for case in self._own:
            for threshold in self._own_of(case) if case in metrics.by_case else ():
                owners[threshold][case] = metrics[case]
        return [
            one
            for threshold, own in owners.items()
            if not any(threshold.selects(each[threshold.metric]) for each in own.values() if threshold.metric in each)
            for one in check([threshold], replace(metrics, by_case=own, wider=()))
        ]

    def _own_of(self, case: Case) -> list[Threshold]:
        """Return the thresholds that any test has for a case."""
        return list(dict.fromkeys(threshold for own in self._own[case].values() for threshold in own))

    def _unanswered(self, checks: Iterable[Check], nodeid: str = "") -> list[str]:
        """Return the breaches that no other test has failed for; this one may run a second time."""
        return [c.text for c in checks if c.outcome == "breached" and self._answered_by.get(c.text, nodeid) == nodeid]


def _limits(thresholds: Iterable[Threshold]) -> list[Threshold]:
    """Return those that compare with a number, and not with a base."""
    return [threshold for threshold in thresholds if not threshold.is_relative]
