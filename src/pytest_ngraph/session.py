"""A session: the cases that its tests ask for, the records they yield, and what follows from them at the end."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from pytest_ngraph.bench.progress import Progress
from pytest_ngraph.case import Case
from pytest_ngraph.errors import StoreError
from pytest_ngraph.machine import environment, this_machine
from pytest_ngraph.options import Options
from pytest_ngraph.record import Record
from pytest_ngraph.store import Journal, check_writable

if TYPE_CHECKING:
    from pytest_ngraph.against import Against
    from pytest_ngraph.artifact import Target
    from pytest_ngraph.bench.base import Base
    from pytest_ngraph.bench.bench import Bench
    from pytest_ngraph.compare import Compare
    from pytest_ngraph.gate import Check, Threshold
    from pytest_ngraph.gate.judge import Judge
    from pytest_ngraph.gate.verdict import Verdict
    from pytest_ngraph.metrics import Metric, Metrics

MEMORY_SHARE = 0.8
"""A worker that holds more of the machine's memory than this is killed before the kernel kills something else."""


class Conclusion(NamedTuple):
    """What follows from all records of a session. breaches: those that no test has failed for."""

    metrics: Metrics
    checks: list[Check]
    verdicts: list[Verdict]
    breaches: list[str]


class Session:
    """Measures groups of cases when the first test of a group asks, and remembers every record.

    on_record: called with each record once it is stored. extra_metrics: the users' own metrics for some records.
    against: what is measured beside the cases, to compare them with; None for nothing. baselines: what is stored.
    """

    def __init__(
        self,
        options: Options,
        progress: Progress,
        on_record: Callable[[Record], object] = lambda record: None,
        extra_metrics: Callable[[Sequence[Record]], Iterable[Metric]] = lambda records: (),
        against: Against | None = None,
        baselines: Sequence[Compare] = (),
    ) -> None:
        self.options = options
        self.against = against
        self.baselines = baselines
        self.judges: list[Judge] = [*baselines, *([against] if against else [])]
        self.records: dict[Case, Record] = {}
        self.unsaved: dict[Case, str] = {}
        self.saved = ""
        self._progress = progress
        self._on_record = on_record
        self._extra_metrics = extra_metrics
        self._expected: dict[Case, dict[Case, str]] = defaultdict(dict)
        self._thresholds: list[tuple[Threshold, Case | None]] = [(t, None) for t in options.thresholds]
        self._curves: dict[Case, dict[Case, Record]] = defaultdict(dict)
        self._reported: set[str] = set()
        self.conclusion: Conclusion | None = None
        self._bench: Bench | None = None
        self._journal: Journal | None = None

    def expect(self, case: Case, nodeid: str) -> None:
        """A test will ask for this case: it is measured together with the others of its group."""
        if case not in self._expected[case.group]:
            self._expected[case.group][case] = nodeid
            self._progress.planned(case)

    def gate(self, case: Case, thresholds: Iterable[Threshold]) -> None:
        """Hold this case to thresholds of its own."""
        self._thresholds += [(threshold, case) for threshold in thresholds]

    def check_store(self) -> None:
        """Raise `StoreError` when the records of this session could not be stored."""
        check_writable(self.options.store)

    @property
    def run_id(self) -> str:
        """The id under which the store has this session; empty when nothing was recorded."""
        return self._journal.id if self._journal else ""

    def record_of(self, case: Case) -> Record:
        """The case's record; its whole group is measured when the first of it is asked for."""
        if case not in self.records:
            group = self._expected[case.group]
            for record in self._open_bench().run([c for c in group if c not in self.records]):
                self.add(dataclasses.replace(record, nodeid=group[record.case]))
        return self.records[case]

    def add(self, record: Record) -> None:
        """Store a record and tell of it. When the store fails, the record is kept here and the case is unsaved."""
        if self.options.settings.smoke:
            self.records[record.case] = record
            return
        journal = self._open_journal()
        record = dataclasses.replace(record, run=journal.id)
        self._progress.finished(record.case)
        self.records[record.case] = record
        self._curves[_curve(record.case)][record.case] = record
        for judge in self.judges:
            judge.judge(record)
        try:
            journal.append(record)
        except StoreError as error:
            self.unsaved[record.case] = str(error)
        self._on_record(record)

    def metrics(self, records: Sequence[Record] | None = None) -> Metrics:
        """The metrics of these records, the users' own included; of all records by default."""
        from pytest_ngraph.metrics import compute

        records = list(self.records.values()) if records is None else records
        return compute(records, extra=self._extra_metrics(records))

    def breaches_of(self, case: Case) -> list[str]:
        """Thresholds that this case breaches, as far as what is measured by now can tell. Each is told once."""
        thresholds = [t for t, owner in self._thresholds if owner in (None, case)]
        if not thresholds or self.options.settings.smoke:
            return []
        from pytest_ngraph.gate import check

        metrics = self.metrics(list(self._curves[_curve(case)].values()))
        return self._news(c for c in check(thresholds, metrics) if c.case == case)

    def conclude(self) -> list[str]:
        """Compute what follows from all records. Returns the breaches that no test has failed for: they belong to
        several tests, or needed a later one."""
        late = [verdict for judge in self.judges for verdict in judge.conclude()]
        if self.options.settings.smoke or not (self.records or late):
            return []
        metrics = self.metrics()
        checks = self._checks(metrics)
        verdicts = [verdict for judge in self.judges for verdict in judge.verdicts.values()]
        breaches = [*self._news(checks), *(f"{each.case.id} {each.text}" for each in late)]
        self.conclusion = Conclusion(metrics, checks, verdicts, breaches)
        return breaches

    def verdicts_of(self, case: Case) -> list[Verdict]:
        """The verdicts on a case, one for each base that it was compared with, as far as what is measured by now can
        tell."""
        return [judge.verdicts[case] for judge in self.judges if case in judge.verdicts]

    def save(self) -> None:
        """Keep this run as the stored baseline that the options name. `saved` tells of it. Raises `StoreError`.

        One in which something regressed is not kept: it would let the next ones be as slow.
        """
        name = self.options.gate.save
        if not name or not self.run_id or self.conclusion is None:
            return
        if any(verdict.name == "regressed" for verdict in self.conclusion.verdicts):
            self.saved = f"Not saved as baseline {name}: what regressed here would pass from then on."
            return
        from pytest_ngraph import baselines

        baselines.keep(self.options.store, name, self.run_id)
        self.saved = f"Saved as baseline {name}; --ngraph-compare={name} compares with it."

    @property
    def unmeasured(self) -> list[Case]:
        """Cases that a test would have asked for, had the session not ended before."""
        return [case for group in self._expected.values() for case in group if case not in self.records]

    def _checks(self, metrics: Metrics) -> list[Check]:
        """Every threshold against every metric that it selects."""
        from pytest_ngraph.gate import check

        everywhere = [t for t, owner in self._thresholds if owner is None]
        own = [(t, owner) for t, owner in self._thresholds if owner is not None]
        return [
            *check(everywhere, metrics),
            *(c for t, owner in own for c in check([t], metrics) if c.case == owner),
        ]

    def close(self) -> None:
        """End the workers and the journal."""
        if self._bench is not None:
            self._bench.close()
        if self._journal is not None:
            self._journal.close()
        if self.against is not None:
            self.against.close()

    def _news(self, checks: Iterable[Check]) -> list[str]:
        texts = [c.text for c in checks if c.outcome == "breached" and c.text not in self._reported]
        self._reported.update(texts)
        return texts

    def _open_bench(self) -> Bench:
        from pytest_ngraph.bench.bench import Bench

        if self._bench is None:
            limit = self.options.settings.memory_bytes or int(MEMORY_SHARE * this_machine().memory_bytes)
            settings = dataclasses.replace(self.options.settings, memory_bytes=limit)
            self._bench = Bench(settings, self._target, self._progress, self._base())
        return self._bench

    def _target(self, case: Case) -> Target:
        """What the case's device computes with."""
        target = self.options.inventory[case.device].target(case)
        if self.against is None or self.options.gate.threads is None:
            return target
        return dataclasses.replace(target, cores=target.cores[: self.options.gate.threads])

    def _base(self) -> Base | None:
        """What the cases that are expected are compared with."""
        if self.against is None or self.options.settings.smoke:
            return None
        return self.against.open(
            [(nodeid, case) for group in self._expected.values() for case, nodeid in group.items()]
        )

    def _open_journal(self) -> Journal:
        if self._journal is None:
            self._journal = Journal(self.options.store, environment())
        return self._journal


def _curve(case: Case) -> Case:
    """Equal for the cases from which one case's own metrics follow: they differ in compiler and batch size only."""
    return dataclasses.replace(case.group, batch_size=1)
