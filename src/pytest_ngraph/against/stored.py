"""A run against stored baselines: which baselines it can be compared with, and the verdicts on its records."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path

from pytest_ngraph import gate
from pytest_ngraph.against.options import GateOptions
from pytest_ngraph.case import Case
from pytest_ngraph.errors import UsageError
from pytest_ngraph.gate import Rule, Verdict
from pytest_ngraph.gate.assessment import Assessment
from pytest_ngraph.gate.changes import Reading, Uncompared, reading_of_runs
from pytest_ngraph.gate.judge import CaseJudge
from pytest_ngraph.gate.pooling import Pooled
from pytest_ngraph.gate.stored import baseline as gate_baseline
from pytest_ngraph.gate.stored.between_runs import BETWEEN_RUNS
from pytest_ngraph.gate.stored.stored_runs import StoredRuns
from pytest_ngraph.gate.tails import percentile_of_runs
from pytest_ngraph.gate.verdict import lost
from pytest_ngraph.machine.host import THIS_MACHINE
from pytest_ngraph.machine.machine import FINGERPRINT, MODEL, is_same_machine
from pytest_ngraph.metrics.percentiles import PERCENTILES
from pytest_ngraph.record import Record
from pytest_ngraph.store import Run, baselines
from pytest_ngraph.store.baselines import Baseline
from pytest_ngraph.system.installed import LIBRARIES
from pytest_ngraph.wording import counted

MATTERING = ("driver", "governor", "python", *LIBRARIES)
"""The facts of an environment that may differ between two runs on one machine and change how long things take."""
EnvironmentOf = Callable[[str], Mapping[str, str] | None]
"""Returns the environment of the machine behind a device; None for a device that nothing is measured on in this run."""


def of_this_machine(device: str) -> dict[str, str]:
    """Return the environment of this machine, for every device."""
    return THIS_MACHINE.environment


class StoredBase(CaseJudge):
    """A stored baseline, and the verdicts on the records compared with it.

    Attributes:
        problem: what differs besides the code, in one line; else empty.
    """

    def __init__(
        self, baseline: Baseline, margin: float, level: float, environment_of: EnvironmentOf = of_this_machine
    ) -> None:
        """Start without verdicts; `level` is the chance of falsely calling a case regressed against this baseline."""
        super().__init__(Rule(margin=margin, level=level))
        self.problem = differences(baseline, environment_of)
        self._baseline = baseline
        self._stored = StoredRuns(baseline.measured)
        self._groups: dict[Case, dict[Case, None]] = defaultdict(dict)

    @property
    def name(self) -> str:
        """The baseline, as shown to users."""
        return self._baseline.label

    @property
    def description(self) -> str:
        """The baseline, in one line."""
        anchored = ", anchored" if self._baseline.anchored else ""
        return f"compared with {self._baseline.label} ({counted(len(self._baseline.runs), 'run')}{anchored})"

    def expect(self, cases: Collection[Case]) -> None:
        """Announce the head's cases, and share the error level among those that the baseline has."""
        self._ledger.share_among(sum(bool(self._stored.records(case)) for case in set(cases)))

    def judge(self, record: Record) -> None:
        """Give a verdict on a record, if it was measured, or is skipped where the baseline has a measurement."""
        case, label = record.case, self._baseline.label
        if record.outcome == "skipped" and self._baseline.ran(case):
            self.verdicts[case] = lost(case, record.skip_reason, label, "has a measurement of it")
        if record.outcome != "measured":
            return
        self._heads[case] = record
        self._ledger.enter(case)
        group = self._groups[case.group]
        if case == case.group:  # what was judged before identity is judged again, beside it
            for other in group:
                self._ledger.enter(other)
        elif case not in group:
            group[case] = None

    def require(self, selected: Collection[Case], is_gone: Callable[[Case, str], bool]) -> None:
        """Call cases missing that only the baseline has: selected but not measured, or no longer in the project.

        Args:
            selected: the cases for which a test was selected.
            is_gone: returns whether the project no longer has a case, given the case and the node id of its test.
        """
        for case in self._stored.cases:
            if case in self._heads or case in self.verdicts:
                continue
            if case in selected:
                if not self._baseline.ran(case):  # its last run has no measurement either
                    continue
                reason = "its test yielded no measurement"
            elif is_gone(case, self._stored.records(case)[-1].nodeid):
                reason = f"only {self._baseline.label} has it"
            else:
                continue
            self.verdicts[case] = Verdict(case=case, name="missing", against=self._baseline.label, reason=reason)

    def time(self, case: Case) -> Pooled:
        """Return the logarithm of this run's seconds per iteration over the baseline's. Raises `Uncompared`."""
        return gate_baseline.time_change_of_runs(self._head(case), self._heads, self._stored)

    def seconds(self, case: Case) -> Pooled:
        """Return the logarithm of this run's seconds, with the uncertainty of another run. Raises `Uncompared`."""
        return gate_baseline.seconds_elsewhere(self._head(case), BETWEEN_RUNS)

    def reading(self, case: Case, metric: str) -> Reading:
        """Return a metric as read in this run, and its change from the baseline. Raises `Uncompared`."""
        head = self._head(case)
        of_runs = percentile_of_runs if metric in PERCENTILES else reading_of_runs
        return of_runs(head, gate_baseline.comparable_runs(head, self._stored), metric)

    def assess(self, worse: Pooled, rule: Rule) -> Assessment:
        """Assess a metric like a case: the margin is widened by what runs differ by chance."""
        return gate_baseline.assess_runs(worse, rule)

    def conclude(self, *, whole: bool = True) -> list[Verdict]:
        """Judge again, knowing all verdicts. Return those on missing cases."""
        self._ledger.settle()
        return [v for v in self.verdicts.values() if v.name == "missing"]

    def _head(self, case: Case) -> Record:
        """Return a case's record of this run. Raises `Uncompared`."""
        if case not in self._heads:
            raise Uncompared("inconclusive", f"{case.id} was not measured")
        return self._heads[case]

    def _verdict(self, case: Case, rule: Rule) -> Verdict:
        return gate.compare(case, self._heads, self._stored, rule, self._baseline.label)


def load(
    folder: Path, options: GateOptions, environment_of: EnvironmentOf = of_this_machine, own: str = ""
) -> list[StoredBase]:
    """Return the baselines that the options name, from the store in this folder. They share the error level.

    Args:
        own: the run that is compared, if it is in the store already because it is resumed.

    Raises:
        UsageError: a baseline does not exist or is of another machine.
        StoreError: a baseline cannot be read.
    """
    found = [baselines.read(folder, name, own) for name in options.compare]
    if not options.foreign_baseline:
        for baseline in found:
            check_machine(baseline, environment_of)
    return [StoredBase(baseline, options.margin, options.level / len(found), environment_of) for baseline in found]


def check_can_save(folder: Path, options: GateOptions, environment_of: EnvironmentOf = of_this_machine) -> None:
    """Raise `UsageError` if this run cannot be added to the baseline under which it is to be saved, if any."""
    if not options.save:
        return
    baselines.check_open(folder, options.save)
    if options.save in baselines.names(folder) and not options.foreign_baseline:
        check_machine(baselines.read(folder, options.save), environment_of)


def save(folder: Path, name: str, run: str, *, worse: str) -> str:
    """Keep a run of the store in this folder as a baseline, and return the result as a sentence.

    A run with a regression is not kept, because later runs could then be as slow; nor is one that lost a case.

    Args:
        worse: what the run has that must not be kept, in words; empty for nothing.

    Raises:
        StoreError: the run cannot be kept.
    """
    if worse:
        return f"Not saved as baseline {name}: this run has {worse}, which comparing with it would hide."
    baselines.keep(folder, name, run)
    return f"Saved as baseline {name}; --ngraph-compare={name} compares with it."


def check_machine(baseline: Baseline, environment_of: EnvironmentOf) -> None:
    """Raise `UsageError` if a run of the baseline was made on another machine."""
    for run, device, now in _counterparts(baseline.runs, environment_of):
        then = run.environment_of(device)
        if not is_same_machine(then, now):
            raise UsageError(
                f"{baseline.label} was measured on another machine: {_machine(then)}; this is {_machine(now)}"
                f"{_unlike(then, now)}. A "
                "difference may come from the machine instead of the code. Save a baseline of this machine under "
                "another name (--ngraph-save), or accept the other machine's: --ngraph-foreign-baseline."
            )


def differences(baseline: Baseline, environment_of: EnvironmentOf) -> str:
    """Return what else than the code differs from the baseline's last run, in one line; empty if nothing does."""
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
    """Yield each run with each of its devices that is measured on now, and the environment of that device now."""
    for run in runs:
        for device in run.devices:
            now = environment_of(device)
            if now is not None:
                yield run, device, now


def _unlike(then: Mapping[str, str], now: Mapping[str, str]) -> str:
    """Return in words how two processors of one name differ; empty if their models are not known, or are equal."""
    differing = [name for name in MODEL if name in then and then[name] != now.get(name)]
    words = ", ".join(f"{name} was {then[name]}, is {now.get(name, 'unknown')}" for name in differing)
    return f" ({words})" if words else ""


def _machine(environment: Mapping[str, str]) -> str:
    """Return `Intel Xeon, 2 cores, 7.6 GiB (1a2b3c4d5e6f)`."""
    cores = environment.get("cores", "")
    parts = [
        environment.get("processor", "unknown processor"),
        counted(len(cores.split(",")), "core") if cores else "",
        environment.get("memory", ""),
    ]
    return f"{', '.join(filter(None, parts))} ({environment.get(FINGERPRINT, 'no fingerprint')})"
