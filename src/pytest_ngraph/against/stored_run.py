"""A stored run against a stored baseline, without measuring: all its cases at once, from outlines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from pytest_ngraph import store
from pytest_ngraph.against.options import GateOptions
from pytest_ngraph.against.stored import check_machine, differences
from pytest_ngraph.gate import Rule, VerdictName
from pytest_ngraph.gate.stored.whole_run import WholeRun
from pytest_ngraph.store import Outline, baselines
from pytest_ngraph.store.baselines import Baseline
from pytest_ngraph.wording import counted, listed

SHOWN: tuple[VerdictName, ...] = ("regressed", "lost")
"""Verdicts that fail a run, each shown in a line."""
MOST_MISSING = 10


@dataclass(frozen=True, kw_only=True)
class ComparedRun:
    """The verdicts on a stored run.

    Attributes:
        problem: what else than the code differs from the baseline's last run, in one line; else empty.
    """

    head: Outline
    baseline: Baseline
    problem: str
    verdicts: WholeRun

    @property
    def fails(self) -> bool:
        """Whether any case has regressed, is lost or failed, or none has a verdict."""
        names = self.verdicts.names
        return any(name in SHOWN for name in names) or not any(names) or bool(self._failed)

    @cached_property
    def _failed(self) -> list[str]:
        """Cases that failed in this run, and that the baseline's last run measured."""
        rows = self.head.rows
        return [each for each in self.verdicts.missing if each in rows and self.head.record(rows[each]).failure]

    def lines(self) -> Iterator[str]:
        """Yield the verdicts that fail a run, what it did not measure, and how many verdicts there are of each."""
        for row, name in enumerate(self.verdicts.names):
            if name in SHOWN:
                yield f"{self.head.ids[row]} {self.verdicts.verdict(row).text}"
        if self._failed:
            yield f"failed, but measured in {self.baseline.label}: {listed(self._failed, MOST_MISSING)}"
        if others := [each for each in self.verdicts.missing if each not in self._failed]:
            yield f"not measured, but in {self.baseline.label}: {listed(others, MOST_MISSING)}"
        if self.problem:
            yield self.problem
        counts = Counter(filter(None, self.verdicts.names))
        kinds = ", ".join(f"{count:,} {name}" for name, count in counts.most_common()) or "nothing was measured"
        runs = counted(len(self.baseline.runs), "run")
        yield f"run {self.head.run.id} against {self.baseline.label} ({runs}): {kinds}"


def compare(folder: Path, run: str, options: GateOptions) -> ComparedRun:
    """Return the verdicts on a run of the store in this folder against the baseline that the options name.

    Args:
        run: its id, or `latest`.

    Raises:
        UsageError: the baseline does not exist, or is of another machine.
        StoreError: a run cannot be read.
    """
    head = store.outlined(folder, run)
    (name,) = options.compare
    baseline, runs = baselines.outlined(folder, name, head.run.id)
    devices = set(head.run.devices)

    def environment_of(device: str) -> dict[str, str] | None:
        return head.run.environment_of(device) if device in devices else None

    if not options.foreign_baseline:
        check_machine(baseline, environment_of)
    rule = Rule(margin=options.margin, level=options.level)
    return ComparedRun(
        head=head,
        baseline=baseline,
        problem=differences(baseline, environment_of),
        verdicts=WholeRun(head, runs, rule, baseline.label),
    )
