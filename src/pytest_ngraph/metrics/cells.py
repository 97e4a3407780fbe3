"""The cells from which metrics are computed: each case's throughput with its draws, or the reason why there is none."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pytest_ngraph.case import IDENTITY, Case, Scalar
from pytest_ngraph.record import Record
from pytest_ngraph.stats import FEWEST_ROUNDS, Estimate, Sampled, bootstrap_medians, median_interval

Key = tuple[str, tuple[tuple[str, Scalar], ...], int | None, int | None, str, str, str]
"""Workload, its arguments, depth, width, precision, objective, device: what compilers and batch sizes share."""


@dataclass(frozen=True, slots=True, eq=False)
class Cell:
    """A case's record and its throughput; None with a problem where the record has no measurement that counts.

    latency_s: the median with its distribution-free interval, which the stopping rule looks at as well.
    """

    record: Record
    throughput: Sampled | None
    latency_s: Estimate | None
    problem: str

    @property
    def case(self) -> Case:
        return self.record.case


class Missing(Exception):
    """A metric lacks a cell; the text says which and why."""


class Inapplicable(Missing):
    """A metric means nothing here, whatever had been measured."""


class Panel:
    """The cells of one workload on one device, by compiler and batch size."""

    def __init__(self) -> None:
        self._cells: dict[tuple[str, int], Cell] = {}

    def add(self, cell: Cell) -> None:
        self._cells[cell.case.compiler, cell.case.batch_size] = cell

    def __iter__(self) -> Iterator[Cell]:
        return iter(self._cells.values())

    def __contains__(self, key: tuple[str, int]) -> bool:
        """Whether a compiler was asked for at a batch size."""
        return key in self._cells

    def throughput(self, compiler: str, batch_size: int) -> Sampled:
        """T_c(b) in samples per second. Raises `Missing`."""
        cell = self.cell(compiler, batch_size)
        if cell.throughput is None:
            raise Missing(f"{compiler} at batch size {batch_size} {cell.problem}")
        return cell.throughput

    def cell(self, compiler: str, batch_size: int) -> Cell:
        """A cell, measured or not. Raises `Missing` when it was never recorded."""
        try:
            return self._cells[compiler, batch_size]
        except KeyError:
            raise Missing(f"{compiler} was not measured at batch size {batch_size}") from None

    def speedup(self, compiler: str, batch_size: int) -> Sampled:
        """T_c(b) / T_identity(b) (study V-C). Raises `Missing`."""
        return self.throughput(compiler, batch_size) / self.throughput(IDENTITY, batch_size)

    def batch_sizes(self, compiler: str) -> list[int]:
        """The batch sizes at which a compiler has a record, rising."""
        return sorted(batch_size for name, batch_size in self._cells if name == compiler)


def panels(records: Iterable[Record]) -> dict[Key, Panel]:
    """The records by what their compilers and batch sizes share. Of a case recorded twice the later record counts."""
    latest = {record.case: record for record in records}
    by_key: dict[Key, Panel] = {}
    for case, record in latest.items():
        by_key.setdefault(key_of(case), Panel()).add(_cell(record))
    return by_key


def key_of(case: Case) -> Key:
    return (case.workload, case.model_args, case.depth, case.width, case.precision, case.objective, case.device)


def _cell(record: Record) -> Cell:
    problem = why_not_measured(record)
    if problem:
        return Cell(record, None, None, problem)
    samples = record.samples
    latency = median_interval(samples)
    # The seed is the case's own, so that its intervals do not depend on which other records are looked at.
    draws = record.case.batch_size / bootstrap_medians(samples, zlib.crc32(record.case.id.encode()))
    throughput = Sampled(record.case.batch_size / latency.value, draws, len(samples) >= FEWEST_ROUNDS)
    return Cell(record, throughput, latency, "")


def why_not_measured(record: Record) -> str:
    """Why a record has no measurement that counts, to be read after the case's name; empty when it has."""
    if record.failure is not None:
        how = "failed" if record.failure.kind == "raised" else record.failure.kind
        return f"{how} in {record.failure.phase}: {_first_line(record.failure.message)}"
    if record.outcome == "skipped":
        return f"was skipped: {_first_line(record.skip_reason)}"
    if record.agreement is not None and not record.agreement.agrees:
        return f"disagreed in verify: {_first_line(record.agreement.problem)}"
    if record.outcome == "failed":
        return "failed"
    return "" if record.rounds else "has no rounds"


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "no message")
