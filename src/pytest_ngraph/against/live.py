"""A run against a base: where that comes from is opened when the first comparison is due, and closed at the end."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from pytest_ngraph.against.options import GateOptions
from pytest_ngraph.against.origin import Origin
from pytest_ngraph.bench.base import Base
from pytest_ngraph.bench.free_cores import FreeCores
from pytest_ngraph.case import Case
from pytest_ngraph.comparison import Comparison
from pytest_ngraph.gate import Calibration, Rule, Verdict, is_enough, missing, verdict
from pytest_ngraph.gate.baseline import seconds_elsewhere
from pytest_ngraph.gate.changes import Reading, Uncompared, reading_of_launches, time_change
from pytest_ngraph.gate.judge import CaseJudge
from pytest_ngraph.gate.pooling import Pooled
from pytest_ngraph.gate.verdict import Assessment, decide_worse
from pytest_ngraph.record import Record
from pytest_ngraph.wording import counted


class LiveBase(CaseJudge):
    """The base of a session, and the verdicts on what is compared with it. note: for the end of the summary. is_whole:
    whether the session went to its end, once that is known.

    patience: tells how many cores other work leaves free.
    """

    def __init__(
        self,
        origin: Origin,
        options: GateOptions,
        calibration: Calibration | None = None,
        patience: FreeCores | None = None,
    ) -> None:
        self.origin = origin
        self.problem = ""
        self.note = ""
        self.is_whole = True
        self._threads = options.threads
        self._patience = patience or FreeCores()
        self._expected: Collection[Case] = ()
        self._comparisons: dict[Case, Comparison] = {}
        rule = Rule(margin=options.margin, level=options.level)
        if calibration is not None:
            rule = calibration.applied(rule)
            self.note = f"Calibrated on {calibration.when[:10]}: {calibration.text}."
        super().__init__(rule)

    @property
    def name(self) -> str:
        """The base, as people read it."""
        return self.origin.name

    @property
    def description(self) -> str:
        """Base and head, in one line."""
        return self.origin.description

    def threads(self, cores: Sequence[int], before: int | None = None) -> int:
        """The most threads that a comparison runs on: as many as were asked for; or as the run had before, which is
        resumed; or else as other work leaves free of these cores when this is first asked. A thread that shares its
        core makes all others wait."""
        if self._threads is None:
            self._threads = before or self._patience.count_free(cores) or len(cores)
            if self._threads < len(cores):
                fewer = _fewer(self._threads, len(cores), as_before=bool(before))
                self.note = " ".join(filter(None, [self.note, fewer]))
        return self._threads

    def expect(self, cases: Collection[Case]) -> None:
        """The head has these, whether they are measured beside the base or not."""
        self._expected = cases

    def open(self, heads: Sequence[tuple[str, Case]], alone: Collection[Case] = ()) -> Base:
        """What the head's cases, given with their node ids, are compared with. alone: those of which either arm is also
        launched alone."""
        found = self.origin.open(heads)
        self.problem = found.problem
        gone = (case for case in found.missing if case not in self._expected)
        self.verdicts.update({case: missing(case, self.origin.name) for case in gone})
        self._ledger.share_among(len(found.bases))
        return Base(
            name=self.origin.name,
            identity=self.origin.identity,
            home=found.home,
            instead_of=found.instead_of,
            case_of=found.bases.get,
            at_base=found.at_base,
            measures_equals=found.measures_equals,
            decided=self.is_decided,
            alone=alone,
        )

    def is_decided(self, comparison: Comparison) -> bool:
        """Whether another launch is of no use, or more than may be spent."""
        return is_enough(comparison, self._ledger.rule)

    def judge(self, record: Record) -> None:
        """Come to a verdict on a record that was compared with the base."""
        if record.comparison is None or record.outcome != "measured":
            return
        self._heads[record.case], self._comparisons[record.case] = record, record.comparison
        self._ledger.enter(record.case)

    def time(self, case: Case) -> Pooled:
        """The logarithm of head's seconds per iteration over base's. Raises `Uncompared`."""
        return time_change(self._head(case), self.rule)

    def seconds(self, case: Case) -> Pooled:
        """The logarithm of head's seconds per iteration, as other processes would have it. Raises `Uncompared`."""
        return seconds_elsewhere(self._head(case), self.rule.priors["apart"])

    def reading(self, case: Case, metric: str) -> Reading:
        """What either arm needed alone. Raises `Uncompared`."""
        return reading_of_launches(self._head(case), metric)

    def decide(self, worse: Pooled, rule: Rule) -> Assessment:
        """As of a case: worse or better by more than the margin, beyond the uncertainty."""
        return decide_worse(worse, rule)

    def conclude(self) -> list[Verdict]:
        """Judge again in the light of all verdicts. What only the base has fails nothing."""
        self._ledger.settle()
        return []

    def close(self) -> None:
        """Remove the base."""
        self.origin.close()

    def _verdict(self, case: Case, rule: Rule) -> Verdict:
        return verdict(case, self._comparisons[case], rule)

    def _head(self, case: Case) -> Record:
        """What was measured of a case beside the base. Raises `Uncompared`."""
        if case not in self._heads:
            raise Uncompared("inconclusive", f"{case.id} was not measured beside {self.name}")
        return self._heads[case]


def _fewer(threads: int, cores: int, *, as_before: bool) -> str:
    why = "as the run did from its" if as_before else "because other work kept the rest busy from the"
    return f"Compared on {counted(threads, 'core')} of {cores}, {why} beginning; --ngraph-gate-threads={cores} insists."
