"""A run against stored baselines: which of them can be compared with, and the verdicts on what is measured."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path

from pytest_ngraph import gate
from pytest_ngraph.against.options import GateOptions
from pytest_ngraph.case import Case
from pytest_ngraph.errors import UsageError
from pytest_ngraph.gate import Rule, Verdict
from pytest_ngraph.gate import baseline as gate_baseline
from pytest_ngraph.gate.changes import Reading, Uncompared, reading_of_runs
from pytest_ngraph.gate.judge import CaseJudge
from pytest_ngraph.gate.pooling import Pooled
from pytest_ngraph.gate.verdict import Assessment
from pytest_ngraph.machine.host import THIS_MACHINE
from pytest_ngraph.record import Record
from pytest_ngraph.store import Run, baselines
from pytest_ngraph.store.baselines import Baseline
from pytest_ngraph.system.installed import LIBRARIES
from pytest_ngraph.wording import counted

MATTERING = ("driver", "governor", "python", *LIBRARIES)
"""What may differ between two runs on one machine and change how long things take."""
EnvironmentOf = Callable[[str], Mapping[str, str] | None]
"""Gives the environment of the machine that a device is now; None for one that nothing is measured on."""


def of_this_machine(device: str) -> dict[str, str]:
    """Every device is this machine."""
    return THIS_MACHINE.environment


class StoredBase(CaseJudge):
    """A stored baseline, and the verdicts on what is compared with it. problem: what differs besides the code.

    level: the chance that this baseline may spend on calling regressed what is not.
    """

    def __init__(
        self, baseline: Baseline, margin: float, level: float, environment_of: EnvironmentOf = of_this_machine
    ) -> None:
        super().__init__(Rule(margin=margin, level=level))
        self.problem = differences(baseline, environment_of)
        self._baseline = baseline
        self._records = baseline.records

    @property
    def name(self) -> str:
        """The baseline, as people read it."""
        return self._baseline.label

    @property
    def description(self) -> str:
        """The baseline, in one line."""
        anchored = ", anchored" if self._baseline.anchored else ""
        return f"compared with {self._baseline.label} ({counted(len(self._baseline.runs), 'run')}{anchored})"

    def expect(self, cases: Collection[Case]) -> None:
        """The head has these: the level is shared among those of them that the baseline has."""
        self._ledger.share_among(len(self._records.keys() & set(cases)))

    def judge(self, record: Record) -> None:
        """Come to a verdict on a record."""
        if record.outcome != "measured":
            return
        self._heads[record.case] = record
        self._ledger.enter(record.case)

    def require(self, selected: Collection[Case], is_gone: Callable[[Case, str], bool]) -> None:
        """Call missing what the baseline has and was not measured, though a test was selected for it, or though the
        project no longer has it: `is_gone` tells of a case and the test that it had."""
        for case, records in self._records.items():
            if case in self._heads:
                continue
            if case in selected:
                reason = "its test yielded no measurement"
            elif is_gone(case, records[-1].nodeid):
                reason = f"only {self._baseline.label} has it"
            else:
                continue
            self.verdicts[case] = Verdict(case=case, name="missing", against=self._baseline.label, reason=reason)

    def time(self, case: Case) -> Pooled:
        """The logarithm of this run's seconds per iteration over the baseline's. Raises `Uncompared`."""
        return gate_baseline.time_change(*self._pair(case))

    def seconds(self, case: Case) -> Pooled:
        """The logarithm of this run's seconds per iteration, as other runs would have it. Raises `Uncompared`."""
        return gate_baseline.seconds_elsewhere(self._pair(case)[0], gate_baseline.BETWEEN_RUNS)

    def reading(self, case: Case, metric: str) -> Reading:
        """What this run and the baseline's read. Raises `Uncompared`."""
        head, records = self._pair(case)
        return reading_of_runs(head, gate_baseline.comparable_runs(head, records), metric)

    def decide(self, worse: Pooled, rule: Rule) -> Assessment:
        """As of a case: the margin is widened by what runs differ by chance."""
        return gate_baseline.decide(worse, rule)

    def conclude(self) -> list[Verdict]:
        """Judge again in the light of all verdicts. Returns those on what is missing."""
        self._ledger.settle()
        return [v for v in self.verdicts.values() if v.name == "missing"]

    def _pair(self, case: Case) -> tuple[Record, list[Record]]:
        """What this run and the baseline's measured of a case. Raises `Uncompared`."""
        if case not in self._heads:
            raise Uncompared("inconclusive", f"{case.id} was not measured")
        return self._heads[case], self._records.get(case, [])

    def _verdict(self, case: Case, rule: Rule) -> Verdict:
        return gate.compare(case, self._heads[case], self._records.get(case, ()), rule, self._baseline.label)


def load(
    folder: Path, options: GateOptions, environment_of: EnvironmentOf = of_this_machine, own: str = ""
) -> list[StoredBase]:
    """The baselines that the options name, of the store in this folder. The level is shared among them.

    own: the run that is compared, where it is in the store already, since it goes on. Raises `UsageError` for a
    baseline that is not there or is another machine's, and `StoreError` for one that cannot be read.
    """
    found = [baselines.read(folder, name, own) for name in options.compare]
    if not options.foreign_baseline:
        for baseline in found:
            check_machine(baseline, environment_of)
    return [StoredBase(baseline, options.margin, options.level / len(found), environment_of) for baseline in found]


def check_can_save(folder: Path, options: GateOptions, environment_of: EnvironmentOf = of_this_machine) -> None:
    """Raise `UsageError` when this run could not be added to the baseline that it is to be saved as, if any."""
    if not options.save:
        return
    baselines.check_open(folder, options.save)
    if options.save in baselines.names(folder) and not options.foreign_baseline:
        check_machine(baselines.read(folder, options.save), environment_of)


def save(folder: Path, name: str, run: str, *, regressed: bool) -> str:
    """Keep a run of the store in this folder as a baseline. One in which something regressed is not kept: it would let
    the next ones be as slow. Returns what became of it, in a sentence. Raises `StoreError`."""
    if regressed:
        return f"Not saved as baseline {name}: what regressed here would pass from then on."
    baselines.keep(folder, name, run)
    return f"Saved as baseline {name}; --ngraph-compare={name} compares with it."


def check_machine(baseline: Baseline, environment_of: EnvironmentOf) -> None:
    """Raise `UsageError` when a run of the baseline was made on another machine."""
    for run, device, now in _counterparts(baseline.runs, environment_of):
        then = run.environment_of(device)
        if then.get("fingerprint") != now["fingerprint"]:
            raise UsageError(
                f"{baseline.label} was measured on another machine: {_machine(then)}; this is {_machine(now)}. What "
                "differs between machines says nothing of the code. Save a baseline of this one under another name, or "
                "give --ngraph-foreign-baseline."
            )


def differences(baseline: Baseline, environment_of: EnvironmentOf) -> str:
    """What else than the code differs from the last run of the baseline, in one line; empty when nothing does."""
    changed: dict[str, None] = {}
    for run, device, now in _counterparts(baseline.runs[-1:], environment_of):
        then = run.environment_of(device)
        changed |= dict.fromkeys(
            f"{name} {then.get(name, 'absent')}, now {now.get(name, 'absent')}"
            for name in MATTERING
            if then.get(name) != now.get(name)
        )
    return f"{baseline.label} had {'; '.join(changed)}" if changed else ""


def _counterparts(runs: Iterable[Run], environment_of: EnvironmentOf) -> Iterator[tuple[Run, str, Mapping[str, str]]]:
    """Each run with each of its devices that is measured on now, and what that is now."""
    for run in runs:
        for device in run.devices:
            now = environment_of(device)
            if now is not None:
                yield run, device, now


def _machine(environment: Mapping[str, str]) -> str:
    """`Intel Xeon, 2 cores, 7.6 GiB (1a2b3c4d5e6f)`."""
    cores = environment.get("cores", "")
    parts = [
        environment.get("processor", "unknown processor"),
        counted(len(cores.split(",")), "core") if cores else "",
        environment.get("memory", ""),
    ]
    return f"{', '.join(filter(None, parts))} ({environment.get('fingerprint', 'no fingerprint')})"
