"""A run beside a base. The base's origin is opened when the first comparison is due, and closed at the end."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

from pytest_ngraph.against.options import GateOptions
from pytest_ngraph.against.origin import Origin
from pytest_ngraph.artifact import Artifact
from pytest_ngraph.bench.beside_base.base import Base
from pytest_ngraph.bench.beside_base.differing import Side
from pytest_ngraph.bench.processes.free_cores import FreeCores
from pytest_ngraph.case import Case
from pytest_ngraph.comparison import Comparison
from pytest_ngraph.gate import Calibration, Rule, Verdict, is_enough, missing, verdict
from pytest_ngraph.gate.assessment import Assessment, assess_launches
from pytest_ngraph.gate.changes import Reading, Uncompared, reading_of_launches, time_change_of_launches
from pytest_ngraph.gate.decision import is_regressed
from pytest_ngraph.gate.judge import CaseJudge
from pytest_ngraph.gate.pooling import Pooled, Prior
from pytest_ngraph.gate.rule import MOST_LAUNCHES
from pytest_ngraph.gate.stored.baseline import seconds_elsewhere
from pytest_ngraph.gate.tails import percentile_of_launches
from pytest_ngraph.metrics.between import IN_GENERAL
from pytest_ngraph.metrics.percentiles import PERCENTILES
from pytest_ngraph.record import Record
from pytest_ngraph.system.relocation import is_code_outside
from pytest_ngraph.wording import counted, listed

MOST_FILES = 3
"""How many files a note names."""


class LiveBase(CaseJudge):
    """The base of a session, and the verdicts on the cases compared with it.

    Attributes:
        problem: of finding the base's cases, in one line; else empty.
        broken: why the base's cases for some of the head's tests are not known; else empty.
        notes: sentences for the end of the summary.
        exported: as in `Base`, as is `on_built`.
    """

    def __init__(
        self,
        origin: Origin,
        options: GateOptions,
        calibration: Calibration | None = None,
        free_cores: FreeCores | None = None,
    ) -> None:
        """Start without verdicts; `free_cores` counts those that other work leaves free."""
        self.origin = origin
        self.problem = ""
        self.broken = ""
        self.notes: list[str] = []
        self.exported: Mapping[Case, Artifact] = {}
        self.on_built: Callable[[Case, Side], object] | None = None
        self._threads = options.threads
        self._explain = options.explain
        self._free_cores = free_cores or FreeCores()
        self._expected: Collection[Case] = ()
        self._comparisons: dict[Case, Comparison] = {}
        self._bases = 0
        self._root: Path | None = None
        self._files: dict[str, None] = {}
        self._same: set[Case] = set()
        self._processes = (calibration.between if calibration else IN_GENERAL).process
        launches = options.launches or MOST_LAUNCHES
        rule = Rule(margin=options.margin, level=options.level, most_launches=launches, two_sided=options.two_sided)
        if calibration is not None:
            rule = calibration.applied(rule)
            self.notes.append(f"Calibrated on {calibration.when[:10]}: {calibration.text}.")
        super().__init__(rule)

    @property
    def name(self) -> str:
        """The base, as shown to users."""
        return self.origin.name

    @property
    def source(self) -> dict[str, str]:
        """What the store keeps of the base for a history: nothing, since this base is another in every run."""
        return {}

    @property
    def description(self) -> str:
        """Base and head, in one line."""
        return self.origin.description

    def threads(self, cores: Sequence[int], before: int | None = None) -> int:
        """Return the most threads that a comparison runs on.

        That is the number from the options; without one, the number that a resumed run had before; else the number of
        these cores that other work leaves free at the first call. A thread that shares its core makes all others wait.

        Args:
            before: the number that a resumed run had; None for a new run.
        """
        if self._threads is None:
            self._threads = before or self._free_cores.count_free(cores) or len(cores)
            if self._threads < len(cores):
                self.notes.append(_fewer(self._threads, len(cores), as_before=bool(before)))
        return self._threads

    def expect(self, cases: Collection[Case]) -> None:
        """Announce the head's cases, whether they are measured beside the base or not."""
        self._expected = cases

    def open(
        self,
        heads: Sequence[tuple[str, Case]],
        measures_unchanged: Callable[[Case], bool] = lambda case: True,
    ) -> Base:
        """Open the origin and return the base that the head's cases are compared with.

        Args:
            heads: the head's cases with their node ids.
        """
        found = self.origin.open(heads)
        self.problem = found.problem
        self.broken = found.broken
        self.notes += filter(None, [found.note])
        gone = (case for case in found.missing if case not in self._expected)
        self.verdicts.update({case: missing(case, self.origin.name) for case in gone})
        self._bases = len(found.bases)
        self._root = found.instead_of[1] if found.instead_of else None
        self._ledger.share_among(self._bases - len(self._same))
        return Base(
            name=self.origin.name,
            identity=self.origin.identity,
            home=found.home,
            instead_of=found.instead_of,
            own_path=found.own_path,
            case_of=found.bases.get,
            at_base=found.at_base,
            measures_equals=found.measures_equals,
            measures_unchanged=measures_unchanged,
            decides=self,
            explain=self._explain,
            exported=self.exported,
            on_built=self.on_built,
        )

    def is_decided(self, comparison: Comparison) -> bool:
        """Return whether the case is decided, or no further launch may be taken."""
        return is_enough(comparison, self._ledger.rule)

    def is_regressed(self, comparison: Comparison) -> bool:
        """Return whether the launches so far show a regression."""
        return is_regressed(comparison, self._ledger.rule)

    def judge(self, record: Record) -> None:
        """Give a verdict on a record, if it was compared with the base."""
        compared = record.comparison
        if compared is not None and self._root is not None:
            self._files |= dict.fromkeys(record.follows_from.get("files", {}))
        if compared is None or record.outcome == "failed":
            return
        if record.outcome == "skipped" and not (compared.lost or compared.broken):  # the base cannot be run either
            return
        if compared.same:  # it needs no part of the error level
            self._same.add(record.case)
            self._ledger.share_among(self._bases - len(self._same))
        self._heads[record.case], self._comparisons[record.case] = record, compared
        self._ledger.enter(record.case)

    def time(self, case: Case) -> Pooled:
        """Return the logarithm of head's seconds per iteration over base's. Raises `Uncompared`."""
        return time_change_of_launches(self._head(case), self.rule)

    def seconds(self, case: Case) -> Pooled:
        """Return the logarithm of head's seconds, with the uncertainty of another process. Raises `Uncompared`."""
        return seconds_elsewhere(self._head(case), Prior(*self._processes))

    def reading(self, case: Case, metric: str) -> Reading:
        """Return what launches of its own show of a metric. Raises `Uncompared`."""
        of_launches = percentile_of_launches if metric in PERCENTILES else reading_of_launches
        return of_launches(self._head(case), metric)

    def assess(self, worse: Pooled, rule: Rule) -> Assessment:
        """Assess a metric like a case: worse or better by more than the margin, beyond the uncertainty."""
        return assess_launches(worse, rule)

    def conclude(self, *, whole: bool = True) -> list[Verdict]:
        """Judge again, knowing all verdicts. Return nothing: a case that only the base has does not fail the run."""
        self._ledger.settle()
        outside = [file for file in self._files if self._root is not None and is_code_outside(file, self._root)]
        if outside:
            self.notes.append(
                "Not compared: code outside of the repository, which is the same at both sides: "
                f"{listed(outside, MOST_FILES)}."
            )
        return []

    def close(self) -> None:
        """Remove the base."""
        self.origin.close()

    def _verdict(self, case: Case, rule: Rule) -> Verdict:
        return verdict(case, self._comparisons[case], rule)

    def _head(self, case: Case) -> Record:
        """Return the record of a case measured beside the base. Raises `Uncompared` where there is none."""
        if case not in self._heads:
            raise Uncompared("inconclusive", f"{case.id} was not measured beside {self.name}")
        return self._heads[case]


def _fewer(threads: int, cores: int, *, as_before: bool) -> str:
    why = "as at the beginning of this run" if as_before else "because other work kept the others busy at the beginning"
    use_all = f"to use all: --ngraph-gate-threads={cores}"
    return f"Compared on {counted(threads, 'core')} of {cores}, {why}; {use_all}."
