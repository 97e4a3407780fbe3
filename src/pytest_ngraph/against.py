"""A run against a git revision: the base is checked out when the first comparison is due, and removed at the end."""

from __future__ import annotations

import dataclasses
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from pytest_ngraph import basecases, pairing, revision
from pytest_ngraph.bench.base import Base
from pytest_ngraph.case import Case
from pytest_ngraph.comparison import Comparison
from pytest_ngraph.gate import Rule, Verdict, decide, holm, missing, verdict
from pytest_ngraph.gate.rule import LOOKS
from pytest_ngraph.options import GateOptions
from pytest_ngraph.record import Record

MOST_MEASURED_S = 10.0
"""Seconds after which a case that is undecided stays so: all its launches together, but for the fewest that a
regression takes."""


class Against:
    """The base of a session, and the verdicts on what is compared with it.

    arguments: those of this run's pytest. folder: where it was started. rootdir: pytest's. Raises `UsageError` for a
    revision that cannot be compared with.
    """

    def __init__(self, options: GateOptions, arguments: Sequence[str], folder: Path, rootdir: Path) -> None:
        self.revision = revision.resolve(options.against, folder)
        self.verdicts: dict[Case, Verdict] = {}
        self.problem = ""
        self._comparisons: dict[Case, Comparison] = {}
        self._arguments = arguments
        self._rootdir = rootdir
        self._rule = Rule(margin=options.margin, level=options.level)
        self._close = ExitStack()

    def open(self, heads: Sequence[tuple[str, Case]]) -> Base:
        """Check the base out and find what each of the head's cases, given with their node ids, is compared with."""
        tree = self._close.enter_context(revision.Worktree(self.revision, Path(tempfile.gettempdir())))
        collection = basecases.collect(tree, self._arguments, rootdir=self._rootdir, sys_path=sys.path)
        pairs = pairing.pair(heads, collection)
        self.problem = collection.problem
        self.verdicts |= {case: missing(case, str(self.revision)) for case in pairs.missing}
        self._rule = dataclasses.replace(self._rule, cells=max(1, len(pairs.bases)))
        return Base(
            name=str(self.revision),
            folder=tree.cwd,
            path=tuple(tree.path(sys.path)),
            root=self.revision.root,
            tree=tree.root,
            case_of=pairs.bases.get,
            at_base=lambda case: basecases.at_base(case, tree),
            decided=self.is_decided,
        )

    def is_decided(self, comparison: Comparison) -> bool:
        """Whether another launch is of no use, or more than may be spent."""
        launches = comparison.launches
        fresh = sum(launch.fresh for launch in launches)
        longest_s = max((launch.elapsed_s for launch in launches), default=0.0)
        late = comparison.elapsed_s + longest_s > MOST_MEASURED_S
        spent = fresh >= self._rule.most_launches or (late and fresh >= LOOKS[0])
        return spent or decide(launches, self._rule, comparison.placement) != "undecided"

    def judge(self, record: Record) -> None:
        """Come to a verdict on a record that was compared with the base."""
        if record.comparison is None or record.outcome != "measured":
            return
        self._comparisons[record.case] = record.comparison
        found = self.verdicts[record.case] = verdict(record.case, record.comparison, self._rule)
        self._rule = dataclasses.replace(self._rule, rejected=self._rule.rejected + (found.name == "regressed"))

    def conclude(self) -> list[Verdict]:
        """Judge again in the light of all verdicts. Returns those that are regressed only now."""
        before = self.verdicts
        self.verdicts = {each.case: each for each in holm(list(before.values()), self._comparisons, self._rule)}
        return [v for case, v in self.verdicts.items() if v.name == "regressed" and before[case].name != "regressed"]

    def close(self) -> None:
        """Remove the base."""
        self._close.close()
