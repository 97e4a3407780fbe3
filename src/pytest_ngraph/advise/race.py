"""The race: which cases are measured next, for how long, until the time is over or only the answer is left."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from pytest_ngraph.advise.candidates import Axes
from pytest_ngraph.advise.limits import Limits
from pytest_ngraph.advise.speeds import speeds
from pytest_ngraph.case import IDENTITY, Case, of_different_compilers
from pytest_ngraph.clock import Clock
from pytest_ngraph.metrics.between import IN_GENERAL, Between, surely_above
from pytest_ngraph.record import Record

FIRST_S = 0.5
"""Seconds of rounds per case in the first rung; each further rung takes twice as long."""
HOPELESS = 2.0
"""A compiler that takes more than so many times as long as the fastest is dropped, and its options are not tried."""
FAR = 1.25
"""A candidate that is surely slower is dropped after the first rung, which has few rounds, if it takes this many times
as long as the fastest."""
FINALISTS = 3
"""Candidates of which what limits ask for is measured. They are of different compilers."""
FINAL_SHARE = 0.4
"""The share of the budget that the rungs before the last one leave."""
COSTS_SHARE = 0.1
"""The share of the budget that is left for costs where the rung of options is the last one."""
FINAL_ROUNDS = 0.3
"""The share of what is left then that rounds may take. They end sooner where the order is known."""
FINAL_MOST_S = 5.0
"""Seconds of rounds of a leader at most, as in a plain run. By then, rounds are known so much better than what other
processes would show that further ones hardly decide anything."""
FEWEST_CALLS = 17
"""Calls of a case at least: twelve rounds, warming up and verifying, however short its rung is."""
OVERHEAD_S = 4.0
"""Seconds that a case takes besides compiling and its rounds: loading, warming up, verifying."""
LEAST_S = 60.0
"""Seconds that a phase of a case may take, even where the budget has fewer left."""
NO_TIME = "the budget had no time left for it"
NO_HOPE = f"not tried, because its compiler as it is takes more than {HOPELESS:g} times as long as the fastest"


class Measurer(Protocol):
    """Where a race measures."""

    def __call__(self, cases: Sequence[Case], budget_s: float, left_s: float, wanted: Sequence[Case]) -> list[Record]:
        """Measure cases of one group in turn.

        Args:
            budget_s: seconds of rounds per case.
            left_s: seconds of the race that are left: no phase of a case may take longer.
            wanted: those of the cases whose single calls and costs to serve are measured, too.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Raced:
    """What a race has measured.

    Attributes:
        groups: records that were measured in turn, in the order in which they were measured.
        finalists: cases of which everything was measured.
        untried: candidates that were not measured, and why.
    """

    groups: list[list[Record]] = field(default_factory=list)
    finalists: list[Case] = field(default_factory=list)
    untried: dict[Case, str] = field(default_factory=dict)

    @property
    def latest(self) -> dict[Case, Record]:
        """The last record of each case."""
        return {record.case: record for group in self.groups for record in group}


class Race:
    """Measures in rungs, each of which keeps the contenders.

    Args:
        axes: what there is to choose from.
        limits: what a candidate has to keep.
        measure: where it is measured.
        budget_s: seconds that the race may take.
        between: how much processes of the same code differ.
    """

    def __init__(
        self,
        axes: Axes,
        limits: Limits,
        measure: Measurer,
        budget_s: float,
        between: Between = IN_GENERAL,
        clock: Clock = time.monotonic,
    ) -> None:
        self._axes = axes
        self._limits = limits
        self._measure = measure
        self._budget_s = budget_s
        self._between = between
        self._clock = clock
        self._ends_at = clock() + budget_s
        self._rung_s = FIRST_S
        self._late: dict[Case, float] = {}
        self._raced = Raced()

    def run(self) -> Raced:
        """Run all rungs."""
        first, *further = self._opened()
        self._rung_s *= 2
        self._try_options(first, is_last=not further and self._limits.are_none)
        self._rung_s *= 2
        for cell in further:
            promising = [replace(cell, compiler=compiler) for compiler in self._promising()]
            self._measure_in_turn(cell, self._fitting(promising))
        self._rung_s *= 2
        self._decide()
        if self._try_late(first):
            self._decide()
        return self._raced

    @property
    def left_s(self) -> float:
        """Seconds that are left of the budget."""
        return self._ends_at - self._clock()

    def _opened(self) -> list[Case]:
        """Measure all compilers in the first cell where any can be measured. Return it and the cells after it."""
        cells = self._axes.cells
        while True:
            self._measure_in_turn(cells[0], [replace(cells[0], compiler=compiler) for compiler in self._axes.compilers])
            if self._measured() or len(cells) == 1 or self.left_s <= 0:
                return cells
            del cells[0]

    def _try_options(self, cell: Case, *, is_last: bool) -> None:
        """Measure the options of all compilers but the hopeless ones, beside the contenders among the compilers.

        Args:
            is_last: whether no other rung follows: there is one cell, and nothing that only finalists are held to.
        """
        ordered = self._eligible(cell) or self._measured(cell)
        efforts: dict[Case, float] = {}
        for record in ordered:
            own = self._axes.options_of(record.case.compiler).items()
            options = {replace(cell, compiler=text): effort for text, effort in own}
            if _times(record, ordered[0]) <= HOPELESS:
                efforts |= options
            else:
                self._raced.untried.update(dict.fromkeys(options, NO_HOPE))
        kept = self._contenders(ordered)
        fitting = self._fitting([*kept, *efforts], efforts, left_share=COSTS_SHARE if is_last else FINAL_SHARE)
        self._late = {case: effort for case, effort in efforts.items() if case not in fitting}
        if any(case in efforts for case in fitting):
            self._raced.finalists.extend(fitting if is_last else ())
            self._measure_in_turn(cell, fitting)

    def _try_late(self, cell: Case) -> bool:
        """Measure the options that there was no time for, as far as the leaders left some. Return whether any was."""
        fastest = [record.case for record in (self._eligible(cell) or self._measured(cell))[:1]]
        self._rung_s = 2 * FIRST_S
        fitting = self._fitting([*fastest, *self._late], self._late, left_share=COSTS_SHARE)
        if late := [case for case in fitting if case in self._late]:
            for case in late:
                del self._raced.untried[case]
            self._measure_in_turn(cell, fitting)
        return bool(late)

    def _contenders(self, ordered: Sequence[Record]) -> list[Case]:
        """Return which of these, the fastest first, are measured once more: those that are neither hopeless nor far
        and surely slower than the fastest."""
        if not ordered:
            return []
        (best, *others) = [record.throughput_interval for record in ordered]
        slower = [False, *surely_above(best, others, self._between)]
        return [
            record.case
            for record, is_slower in zip(ordered, slower, strict=True)
            if _times(record, ordered[0]) <= (FAR if is_slower else HOPELESS)
        ]

    def _promising(self) -> list[str]:
        """Return the compilers that are tried in the next cell.

        These are the fastest ones of each cell so far, with and without limits: a limit that is breached there may be
        kept at another batch size, in another precision or with other threads. Those that no cell so far could measure
        follow: they may run in this one.
        """
        cells = dict.fromkeys(record.case.group for record in self._measured())
        ranked = (records for cell in cells for records in (self._eligible(cell), self._measured(cell)))
        leaders = [case.compiler for records in ranked for case in _leaders(records)]
        measured = {record.case.compiler for record in self._measured()}
        return list(dict.fromkeys([*leaders, *(each for each in self._axes.compilers if each not in measured)]))

    def _eligible(self, cell: Case | None = None) -> list[Record]:
        """Return the measured candidates that breach no limit so far, the fastest first."""
        return [
            record
            for record in self._measured(cell)
            if not any(each.state == "breached" for each in self._limits.held(record, self._between))
        ]

    def _measured(self, cell: Case | None = None) -> list[Record]:
        """Return the candidates that were measured, of one cell or of all, the fastest first."""
        named, throughput = self.named, speeds(self._raced.groups)
        records = [
            record
            for record in self._raced.latest.values()
            if record.outcome == "measured" and record.case.compiler in named and cell in (None, record.case.group)
        ]
        return sorted(records, key=lambda record: -throughput[record.case])

    @property
    def named(self) -> set[str]:
        """The compilers that may be picked, with their options; identity is measured even where it is none of them."""
        options = (text for compiler in self._axes.compilers for text in self._axes.options_of(compiler))
        return {*self._axes.compilers, *options}

    def _decide(self) -> None:
        """Measure what limits ask for, of the leaders, and of the next ones while one of them may be the fastest.

        The next ones take about as long as the leaders took. Without so much time left, they are not measured.
        """
        finalists = self._raced.finalists
        least_s, took_s = self._rung_s, 0.0
        while leaders := _leaders(record for record in self._eligible() if record.case not in finalists):
            if finalists and (self.left_s <= took_s or self._eligible()[0].case in finalists):
                break
            finalists += leaders
            began_s = self.left_s
            cells = dict.fromkeys(case.group for case in leaders)
            each_s = FINAL_ROUNDS * began_s / (len(leaders) + len(cells))  # whole seconds: the same in a resumed race
            self._rung_s = max(least_s, min(FINAL_MOST_S, float(round(each_s))))
            for cell in cells:
                self._measure_in_turn(cell, [case for case in leaders if case.group == cell])
            took_s = began_s - self.left_s

    def _measure_in_turn(self, cell: Case, candidates: Sequence[Case]) -> None:
        """Measure candidates of a cell in turn, with identity; nothing where there are none.

        Of finalists everything is measured, also of identity where it is one and is measured again beside others.
        """
        if candidates:
            identity = replace(cell, compiler=IDENTITY)
            wanted = [case for case in dict.fromkeys([*candidates, identity]) if case in self._raced.finalists]
            cases = list(dict.fromkeys([identity, *candidates]))
            self._raced.groups.append(self._measure(cases, self._rung_s, max(self.left_s, LEAST_S), wanted))

    def _fitting(
        self,
        candidates: Sequence[Case],
        efforts: Mapping[Case, float] | None = None,
        left_share: float = FINAL_SHARE,
    ) -> list[Case]:
        """Return the candidates that there is time for, in their order, and note the others as not tried.

        A part of the budget is left for the last rung, and identity is measured beside them.

        Args:
            efforts: how many times as long as before their compilers take.
            left_share: the share of the budget that is left.
        """
        beside = {replace(case, compiler=IDENTITY) for case in candidates} - {*candidates}
        left_s = self.left_s - left_share * self._budget_s - sum(self._seconds(case, 1.0) for case in beside)
        fitting: list[Case] = []
        for case in candidates:
            seconds = self._seconds(case, (efforts or {}).get(case, 1.0))
            if seconds <= left_s:
                left_s -= seconds
                fitting.append(case)
            elif case not in self._raced.latest:
                self._raced.untried[case] = NO_TIME
        return fitting

    def _seconds(self, case: Case, effort: float) -> float:
        """Return about how long it takes to measure a case, from what its compiler took before."""
        known = self._raced.latest.get(case)
        before = [record for record in self._raced.latest.values() if record.case.compiler_name == case.compiler_name]
        like = [known] if known is not None else before
        rates = [record.throughput for record in like if record.outcome == "measured"]
        calls_s = FEWEST_CALLS * case.batch_size / max(rates) if rates else 0.0
        measuring = OVERHEAD_S + max(self._rung_s, calls_s)
        if known is not None:  # it has been compiled, and is only loaded
            return (known.load_s or 0.0) + measuring
        compiling = max(((record.total_compile_s or 0.0) + (record.load_s or 0.0) for record in before), default=0.0)
        return effort * compiling + measuring


def _times(record: Record, fastest: Record) -> float:
    """Return how many times as long as the fastest a sample takes."""
    return fastest.throughput / record.throughput


def _leaders(records: Iterable[Record]) -> list[Case]:
    """Return the first `FINALISTS` of these that are of different compilers."""
    return of_different_compilers(record.case for record in records)[:FINALISTS]
