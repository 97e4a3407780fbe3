"""A stored run against a stored baseline: the verdicts on all its cases at once, from outlines.

They are those of `baseline.compare`, given when all records are known. Records are read only for the details of
verdicts that somebody asks for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from pytest_ngraph.gate.rule import Rule
from pytest_ngraph.gate.stored.aligned_runs import HEAD, AlignedRuns
from pytest_ngraph.gate.stored.baseline import TOO_FEW, WITHIN, Doubt, doubt, judged
from pytest_ngraph.gate.stored.pooled_columns import PooledColumns, departures
from pytest_ngraph.gate.stored.stored_runs import BASES, Against
from pytest_ngraph.gate.verdict import Verdict, VerdictName, lost
from pytest_ngraph.metrics.sampled import Bools, Rows
from pytest_ngraph.stats import Floats
from pytest_ngraph.store.outline import Kind, Outline


class WholeRun:
    """The verdicts on the cases of a run.

    Args:
        head: the run.
        runs: those of the baseline, oldest first.
        rule: margin and error level.
        against: name of the baseline.

    Attributes:
        names: the verdict on each case of the run by its row; None where it was not measured, and is not lost.
        missing: ids of cases that the baseline's last run measured, and this run did not, and that are not lost.
    """

    def __init__(self, head: Outline, runs: Sequence[Outline], rule: Rule, against: str) -> None:
        self._head = head
        self._against = against
        self._aligned = aligned = AlignedRuns(head, runs)
        count = len(head.ids)
        measured: Bools = aligned.present[HEAD, :]
        stored = np.logical_or.reduce(aligned.present[:HEAD])
        usable = aligned.usable()
        self._rule = replace(rule, cells=max(1, int(stored[:count].sum())))
        self.names: list[VerdictName | None] = [None] * count
        skipped = np.zeros(len(aligned.ids), dtype=np.bool_)
        skipped[:count] = head.are(Kind.SKIPPED)
        lost_now = skipped & aligned.ran
        self.missing = [aligned.ids[place] for place in np.flatnonzero(stored & aligned.ran & ~measured & ~lost_now)]
        self._name(np.flatnonzero(measured & ~stored), "new")
        self._name(np.flatnonzero(measured & stored), "inconclusive")
        self._name(np.flatnonzero(lost_now), "lost")
        self._judged: Rows = np.flatnonzero(usable.any(axis=0) & aligned.known[HEAD])
        self._rows = dict(zip(self._judged.tolist(), range(len(self._judged)), strict=True))
        self._usable = usable[:, self._judged]
        self._compare()
        self._decide()

    def verdict(self, row: int) -> Verdict:
        """Return the verdict on the case of a row, which has one."""
        name, record = self.names[row], self._head.record(row)
        assert name is not None
        if name == "lost":
            return lost(record.case, record.skip_reason, self._against, "has a measurement of it")
        if row not in self._rows:
            reason = f"{self._against} does not have it" if name == "new" else TOO_FEW
            return Verdict(case=record.case, name=name, against=self._against, reason=reason)
        place = self._rows[row]
        rule = replace(self._rule, rejected=int(self._rejected[place]))
        pressure = record.contention.pressure_percent
        return judged(record.case, self._found(place), self._doubt(place), rule, self._against, pressure)

    def _found(self, place: int) -> Against:
        ratio = self._ratio_of.get(place)
        time, runs = self._time.of(place), int(self._decisive.launches[place])
        if ratio is None:
            return Against(time, None, None, runs, BASES[self._basis[place]])
        return Against(time, self._ratio.of(ratio), self._identity.of(ratio), runs, BASES[3])

    def _doubt(self, place: int) -> Doubt | None:
        row, aligned = self._judged[place], self._aligned
        runs = np.flatnonzero(self._usable[:, place])
        threads = [None if each < 0 else int(each) for each in aligned.threads[[*runs, HEAD], row]]
        *of_runs, own = threads
        slowed, of_baseline = aligned.slowed[HEAD, row].item(), aligned.slowed[runs, row].max().item()
        return doubt(own, slowed, set(of_runs), of_baseline)

    def _name(self, rows: Rows, name: VerdictName) -> None:
        for row in rows.tolist():
            self.names[row] = name

    def _compare(self) -> None:
        """Compute how far each judged case lies above the baseline's runs, in time and relative to identity."""
        rows, aligned = self._judged, self._aligned
        effects, times = aligned.effects, aligned.priors_of_times
        self._time = departures(
            effects.of(HEAD).take(rows), effects.of(slice(HEAD)).take(rows), self._usable, times.take(rows)
        )
        beside = aligned.beside()[:, rows]
        compared = self._usable & beside[:HEAD]
        has_identity = beside[HEAD] & compared.any(axis=0)
        last = np.full(len(aligned.ids), len(aligned.present) - 1)
        alike = compared & aligned.same_identity(last)[:HEAD, rows]
        by_ratio = has_identity & alike.any(axis=0)
        self._basis = np.where(aligned.is_identity[rows], 0, np.where(by_ratio, 3, np.where(has_identity, 2, 1)))
        places = np.flatnonzero(by_ratio)
        own, identity, alike = rows[places], aligned.identity[rows[places]], alike[:, places]
        ratios = aligned.ratios
        self._ratio = departures(
            ratios.of(HEAD).take(own), ratios.of(slice(HEAD)).take(own), alike, aligned.priors_of_ratios.take(own)
        )
        self._identity = departures(
            effects.of(HEAD).take(identity), effects.of(slice(HEAD)).take(identity), alike, times.take(identity)
        )
        self._ratio_of = dict(zip(places.tolist(), range(len(places)), strict=True))
        self._places = places
        self._decisive = self._time.replaced(places, self._ratio)

    def _decide(self) -> None:
        """Name the verdicts on judged cases, in the order of the run, then again those that stayed inconclusive."""
        rule, decisive = self._rule, self._decisive
        slower, faster = decisive.p_above(rule.limit), decisive.p_below(-rule.limit)
        doubted_slower, doubted_faster = self._doubtful()
        against_slower, against_faster = self._contradicted()
        is_unchanged = ~doubted_slower & ~doubted_faster & self._is_within(slower, faster)
        may_regress = ~doubted_slower & ~against_slower & (slower <= rule.level)
        regressed: dict[int, int] = {}
        for place in np.flatnonzero(may_regress).tolist():
            if slower[place] <= replace(rule, rejected=len(regressed)).corrected_level:
                regressed[place] = len(regressed)
        self._rejected = np.searchsorted(np.array(list(regressed), dtype=np.intp), np.arange(len(slower)))
        levels = rule.level / np.maximum(1, rule.cells - self._rejected)
        improved = ~doubted_faster & ~against_faster & (faster <= levels) & (slower > levels)
        # a change that only identity shows is none of the case, whatever its interval
        is_unchanged &= ~improved & ~(against_slower & (slower <= levels)) & ~(against_faster & (faster <= levels))
        left = np.flatnonzero(may_regress & ~improved & ~is_unchanged)
        for place in left[np.argsort(slower[left], kind="stable")].tolist():
            if place in regressed:
                continue
            if slower[place] <= replace(rule, rejected=len(regressed)).corrected_level:
                self._rejected[place] = regressed[place] = len(regressed)
        names: tuple[tuple[Rows, VerdictName], ...] = (
            (np.flatnonzero(is_unchanged), "unchanged"),
            (np.flatnonzero(improved), "improved"),
            (np.array(list(regressed), dtype=np.intp), "regressed"),
        )
        for places, name in names:
            self._name(self._judged[places], name)

    def _doubtful(self) -> tuple[Bools, Bools]:
        """Return which judged cases something else than the code may have made slower, and which faster."""
        rows, aligned, time = self._judged, self._aligned, self._time
        threads = aligned.threads[:, rows]
        others = self._usable & (threads[:HEAD] != threads[HEAD]) & (threads[:HEAD] > 0)
        on_others = (threads[HEAD] > 0) & others.any(axis=0)
        now, before = aligned.slowed[HEAD, rows], np.where(self._usable, aligned.slowed[:HEAD, rows], 1.0).max(axis=0)
        limit, miss = self._rule.limit, self._rule.miss
        is_busy = np.maximum(now, before) > 1
        slower: Bools = on_others | (is_busy & (time.p_above(limit + np.log(now)) > miss))
        faster: Bools = on_others | (is_busy & (time.p_below(-limit - np.log(before)) > miss))
        return slower, faster

    def _is_within(self, slower: Floats, faster: Floats) -> Bools:
        """Return which intervals lie within the widened margin, and not beyond the margin itself."""
        rule, decisive = self._rule, self._decisive
        margins = rule.limit + WITHIN * decisive.standard_error
        is_within = (decisive.p_above(-margins) < rule.miss) & (decisive.p_below(margins) < rule.miss)
        is_beyond = (slower < rule.miss) | (faster < rule.miss)
        found: Bools = is_within & ~is_beyond
        return found

    def _contradicted(self) -> tuple[Bools, Bools]:
        """Return which cases would only be slower, or only be faster, because identity changed."""
        rule, places = self._rule, self._places
        time: PooledColumns = self._time.take(places)
        found = np.zeros((2, len(self._judged)), dtype=np.bool_)
        found[0, places] = (time.mean < rule.limit) & (self._identity.p_below(0.0) <= rule.miss)
        found[1, places] = (time.mean > -rule.limit) & (self._identity.p_above(0.0) <= rule.miss)
        return found[0], found[1]
