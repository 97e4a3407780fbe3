"""The cells from which metrics are computed: the measurement of each case, or the reason why there is none."""

from __future__ import annotations

import dataclasses
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import numpy as np

from pytest_ngraph.case import IDENTITY, Case
from pytest_ngraph.costs import COSTS, Costs
from pytest_ngraph.load import Load
from pytest_ngraph.metrics.rates import Rates, logs_of_rates
from pytest_ngraph.metrics.sampled import Bools, Growing, Rows, in_cache
from pytest_ngraph.record import Record, Round
from pytest_ngraph.stats import FEWEST_ROUNDS, Estimate, Estimates, Floats, intervals_of_rounds
from pytest_ngraph.stats.bootstrap import DRAWS, bootstrap_medians_of_each

READINGS = (
    "compile_s", "score", "cpu_percent", "worker_memory_bytes", "device_memory_bytes", "tokens", "first_tokens"
)  # fmt: skip
"""What is read once of a record, not sampled (`Record.reading`)."""
AT_ONCE = 256
"""Cases whose samples are looked at at a time: what is computed of them, such as draws, stays in a core's cache."""
NO_CALLS: Floats = np.empty(0)
UNCHANGED = "was not measured: it is unchanged"
"""Why a case that a gate left out has no measurement."""
Cost = Estimate | str
"""What a cost to serve is, or why it is not known."""

Key = Case
"""All of a case except compiler and batch size, which are identity and 1."""


@dataclass(frozen=True, eq=False)
class Cells:
    """Measurements of n cases, one row per case.

    Attributes:
        cases: the case of each row.
        sessions: in which session each was measured (`Record.measured_in`).
        problems: why a case has no valid measurement, as a phrase that follows its name; empty where it has one.
        samples: seconds per iteration of all rounds, one case after another.
        rounds: number of rounds of each case; shape (n,).
        seeds: of the draws of each case; equal for cases that were timed in turn; shape (n,).
        calls: seconds of single calls of each case, in the order in which they were timed; empty where none were.
        readings: values that were read once, by the names of `READINGS`; NaN where missing; shape (n,) each.
        costs: what serving costs, by the names of `COSTS`, or why it is not known; for each case of which that was
            asked for, by its row.
        loads: what was shown under load, by the row; most cases have none.
    """

    cases: Sequence[Case]
    sessions: Sequence[str]
    problems: Sequence[str]
    samples: Floats
    rounds: Rows
    seeds: Rows
    calls: Sequence[Floats]
    readings: Mapping[str, Floats]
    costs: Mapping[int, Mapping[str, Cost]]
    loads: Mapping[int, Load]

    @classmethod
    def of(cls, records: Iterable[Record]) -> Cells:
        """Return the cells of these records. Of a case recorded twice, the later record counts."""
        return cls.of_each(list({record.case: record for record in records}.values()))

    @classmethod
    def of_each(cls, records: Sequence[Record]) -> Cells:
        """Return a row for each record, even where several have the same case."""
        rounds = [record.rounds for record in records]
        iterations, elapsed_s = flattened(rounds)
        return cls(
            cases=[record.case for record in records],
            sessions=[record.measured_in for record in records],
            problems=[why_not_measured(record) for record in records],
            samples=elapsed_s / iterations,
            rounds=np.array([len(own) for own in rounds], dtype=np.intp),
            seeds=np.array([zlib.crc32((r.cycles or r.case.id).encode()) for r in records], dtype=np.intp),
            calls=[np.array(record.calls, dtype=np.float64) if record.calls else NO_CALLS for record in records],
            readings={name: np.array([r.reading(name) for r in records], dtype=np.float64) for name in READINGS},
            costs={row: _costs(record.serving) for row, record in enumerate(records) if record.serving},
            loads={row: record.load for row, record in enumerate(records) if record.load},
        )

    @classmethod
    def joined(cls, parts: Iterable[Cells]) -> Cells:
        """Return the rows of all parts, one part after another. Parts may come from a generator, and are not kept."""
        samples, arrays = Growing(), defaultdict[str, list[Floats]](list)
        rounds, seeds = [np.empty(0, dtype=np.intp)], [np.empty(0, dtype=np.intp)]
        cases, sessions, problems, calls = list[Case](), list[str](), list[str](), list[Floats]()
        costs, loads = dict[int, Mapping[str, Cost]](), dict[int, Load]()
        for part in parts:
            costs |= {len(cases) + row: own for row, own in part.costs.items()}
            loads |= {len(cases) + row: own for row, own in part.loads.items()}
            cases += part.cases
            sessions += part.sessions
            problems += part.problems
            calls += part.calls
            samples.add(part.samples)
            rounds.append(part.rounds)
            seeds.append(part.seeds)
            for name in READINGS:
                arrays[name].append(part.readings[name])
        return cls(
            cases=cases,
            sessions=sessions,
            problems=problems,
            samples=samples.whole(),
            rounds=np.concatenate(rounds),
            seeds=np.concatenate(seeds),
            calls=calls,
            readings={name: np.concatenate([np.empty(0), *arrays[name]]) for name in READINGS},
            costs=costs,
            loads=loads,
        )

    def take(self, rows: Rows) -> Cells:
        """Return these rows, in this order; itself where they are all rows in its own order."""
        if np.array_equal(rows, np.arange(len(self.cases))):
            return self
        ends = self._begins + self.rounds
        own = [self.samples[self._begins[row] : ends[row]] for row in rows]
        return Cells(
            cases=[self.cases[row] for row in rows],
            sessions=[self.sessions[row] for row in rows],
            problems=[self.problems[row] for row in rows],
            samples=np.concatenate([np.empty(0), *own]),
            rounds=self.rounds[rows],
            seeds=self.seeds[rows],
            calls=[self.calls[row] for row in rows],
            readings={name: values[rows] for name, values in self.readings.items()},
            costs={place: self.costs[row] for place, row in enumerate(rows.tolist()) if row in self.costs},
            loads={place: self.loads[row] for place, row in enumerate(rows.tolist()) if row in self.loads},
        )

    @cached_property
    def measured(self) -> Bools:
        return np.array([not problem for problem in self.problems], dtype=np.bool_)

    @cached_property
    def batch_sizes(self) -> Floats:
        return np.array([case.batch_size for case in self.cases], dtype=np.float64)

    @cached_property
    def latency_s(self) -> Estimates:
        """Medians with their distribution-free intervals, which the stopping rule uses too; NaN where not measured."""
        columns = np.full((3, len(self.cases)), np.nan)
        for rows, samples in self._of_equal_rounds(np.flatnonzero(self.measured)):
            found = intervals_of_rounds(samples)
            columns[:, rows] = found.values, found.lows, found.highs
        return Estimates(*columns)

    def throughput(self, rows: Rows) -> Rates:
        """Return T_c(b) in samples per second of these rows, all of which are measured."""
        logs = np.empty((len(rows), DRAWS), dtype=np.float32)
        places = np.empty(len(self.cases), dtype=np.intp)
        places[rows] = np.arange(len(rows))
        for own, samples in self._of_equal_rounds(rows):
            # A seed depends on the record alone, so that intervals do not depend on which other records are given.
            medians = bootstrap_medians_of_each(samples, self.seeds[own].tolist())
            logs[places[own]] = logs_of_rates(self.latency_s.values[own], medians)
        values = self.batch_sizes[rows] / self.latency_s.values[rows]
        return Rates(values, logs, self.rounds[rows] >= FEWEST_ROUNDS)

    @cached_property
    def _begins(self) -> Rows:
        """Index of each case's first sample."""
        return np.cumsum(self.rounds) - self.rounds

    def _of_equal_rounds(self, rows: Rows) -> Iterator[tuple[Rows, Floats]]:
        """Yield groups of rows with equally many rounds, `AT_ONCE` or fewer, and their samples, shape (n, rounds)."""
        counts = self.rounds[rows]
        for count in np.unique(counts):
            for own in in_cache(rows[counts == count], AT_ONCE):
                yield own, self.samples[self._begins[own, None] + np.arange(count)]


def _costs(serving: Costs) -> dict[str, Cost]:
    return {name: serving.estimate(name) or serving.why_absent(name) for name in COSTS}


def flattened(rounds: Iterable[Sequence[Round]]) -> tuple[Floats, Floats]:
    """Return the iterations and the seconds of all rounds, one after another."""
    flat = np.fromiter(chain.from_iterable(chain.from_iterable(rounds)), dtype=np.float64).reshape(-1, 2)
    return flat[:, 0], flat[:, 1]


def key_of(case: Case) -> Key:
    """Return what all cases have in common that differ in compiler and batch size only."""
    return dataclasses.replace(case, compiler=IDENTITY, batch_size=1)


def why_not_measured(record: Record) -> str:
    """Return why a record has no valid measurement, as a phrase that follows the case's name; empty if it has one."""
    if record.failure is not None:
        how = "failed" if record.failure.kind == "raised" else record.failure.kind
        return f"{how} in {record.failure.phase}: {_first_line(record.failure.message)}"
    if record.outcome == "skipped":
        return f"was skipped: {_first_line(record.skip_reason)}"
    if record.outcome == "unchanged":
        return UNCHANGED
    if record.agreement is not None and not record.agreement.agrees:
        return f"disagreed in verify: {_first_line(record.agreement.problem)}"
    if record.outcome == "failed":
        return "failed"
    return "" if record.rounds else "has no rounds"


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "no message")
