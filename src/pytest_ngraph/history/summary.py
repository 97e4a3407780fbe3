"""A summary: what one record comes to, without its samples; and files of summaries.

`<store>/summaries/NAME.jsonl` holds the summaries of a run whose samples were forgotten (`pruning.py`), or of results
that another tool made (`imports/`). It is JSON Lines, like a journal: a line that describes a session (`Origin`), then
a line for each record.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pytest_ngraph.case import Case
from pytest_ngraph.comparison import Comparison
from pytest_ngraph.errors import StoreError
from pytest_ngraph.gate import Rule
from pytest_ngraph.gate.decision import drawn, weigh
from pytest_ngraph.metrics.between import TAIL
from pytest_ngraph.record import Record
from pytest_ngraph.stats import Estimate, intervals_of_rounds, without_infinities
from pytest_ngraph.store import SUFFIX
from pytest_ngraph.store.lines import lines
from pytest_ngraph.store.run import SUMMARIES
from pytest_ngraph.system.files import write_whole

SCHEMA = 1


class Ratio(NamedTuple):
    """The logarithm of head's time over the anchor's, with its standard error and its 95 % interval."""

    log: float
    error: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """What the records of a session on one device have in common.

    Attributes:
        run: id of the run, or the name of what was imported.
        environment: facts of the machine and its libraries.
        source: what was measured, as in `store.Journal`.
    """

    run: str
    environment: Mapping[str, str] = field(default_factory=dict)
    source: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What one record comes to.

    Attributes:
        case_id: id of the case, or the name that another tool gave what it measured.
        case: `Case.to_dict`, or of another tool's result `workload`, `compiler` and `device` only.
        outcome: as in `Record`.
        started_at: seconds since the epoch.
        against: the base that it was measured beside; empty for none.
        latency: median seconds per iteration; None where nothing was measured.
        ratio: the time over the base's; None without a base.
    """

    case_id: str
    case: dict[str, Any]
    outcome: str
    started_at: float
    against: str = ""
    latency: Estimate | None = None
    ratio: Ratio | None = None

    @classmethod
    def of(cls, record: Record) -> Summary:
        """Return the summary of a record."""
        return cls.of_each([record])[0]

    @classmethod
    def of_each(cls, records: Sequence[Record]) -> list[Summary]:
        """Return the summaries of some records, which takes less time than one by one."""
        return [
            cls(
                case_id=record.case.id,
                case=record.case.to_dict(),
                outcome=record.outcome,
                started_at=record.started_at,
                against=record.comparison.against if record.comparison else "",
                latency=latency,
                ratio=ratio_of(record.comparison) if record.comparison else None,
            )
            for record, latency in zip(records, _latencies(records), strict=True)
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return the summary as JSON-ready data. A bound that is not finite is null."""
        return {
            "case_id": self.case_id,
            "case": self.case,
            "outcome": self.outcome,
            "started_at": self.started_at,
            "against": self.against,
            "latency": without_infinities(self.latency) if self.latency else None,
            "ratio": list(self.ratio) if self.ratio else None,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Summary:
        """Return the summary that `to_dict` wrote. Raises `TypeError`, `ValueError` or `KeyError` for other data."""
        latency, ratio = data["latency"], data["ratio"]
        return cls(
            case_id=str(data["case_id"]),
            case=dict(data["case"]),
            outcome=str(data["outcome"]),
            started_at=float(data["started_at"]),
            against=str(data["against"]),
            latency=Estimate.with_bounds(*latency) if latency else None,
            ratio=Ratio(*map(float, ratio)) if ratio else None,
        )


def _latencies(records: Sequence[Record]) -> list[Estimate | None]:
    """Return the median seconds per iteration of each record; None where it was not measured."""
    of_count: dict[int, list[int]] = defaultdict(list)
    for row, record in enumerate(records):
        if record.outcome == "measured":
            of_count[len(record.rounds)].append(row)
    found: list[Estimate | None] = [None] * len(records)
    for rows in of_count.values():
        intervals = intervals_of_rounds(np.array([records[row].samples for row in rows]))
        for place, row in enumerate(rows):
            found[row] = intervals[place]
    return found


def ratio_of(comparison: Comparison) -> Ratio | None:
    """Return head's time over the base's; None where the two could not be compared.

    Of a case that is compared in two ways, the modules' ratio counts: it has what changed in Python, too, and is the
    only one where the graphs are equal. What is known beforehand of launches is the same for every machine
    (`gate.rule.PRIORS`), so that a series does not jump where a machine is calibrated.
    """
    if comparison.same:
        return Ratio(0.0, 0.0, 0.0, 0.0)
    if comparison.lost or comparison.new:
        return None
    if comparison.module is not None:
        return ratio_of(comparison.module)
    launches = drawn(comparison)
    evidence = weigh(launches, Rule(), comparison.placement) if launches else None
    if evidence is None:
        return None
    pooled = evidence.everything
    found = Ratio(pooled.mean, pooled.standard_error, pooled.low(TAIL), pooled.high(TAIL))
    return found if np.isfinite(found).all() else None


def files(store: Path) -> list[Path]:
    """Return the files of summaries in a store, sorted."""
    return sorted((store / SUMMARIES).glob("*" + SUFFIX))


def read(path: Path) -> Iterator[tuple[Origin, Summary] | None]:
    """Yield the summaries of a file with their origins; None for each line that is neither."""
    origin = None
    for line in lines(path):
        data = line.data or {}
        try:
            if "summaries" in data:
                if int(data["summaries"]) > SCHEMA:
                    raise StoreError(f"{path} was written by a later pytest-ngraph. Upgrade pytest-ngraph.")
                origin = Origin(run=str(data["run"]), environment=data["environment"], source=data["source"])
            else:
                summary = Summary.from_dict(data)
                yield (origin, summary) if origin else None
        except (TypeError, ValueError, KeyError, AttributeError):
            yield None


def write(path: Path, summaries: Iterable[tuple[Origin, Summary]]) -> None:
    """Write a file of summaries, completely or not at all. Raises `StoreError`."""
    texts: list[str] = []
    last = None
    for origin, summary in summaries:
        if origin != last:
            head = {"run": origin.run, "environment": dict(origin.environment), "source": dict(origin.source)}
            texts.append(json.dumps({"summaries": SCHEMA} | head, separators=(",", ":")))
            last = origin
        texts.append(json.dumps(summary.to_dict(), separators=(",", ":")))
    write_whole(path, "".join(f"{text}\n" for text in texts).encode())


def case_named(name: str, device: str) -> dict[str, Any]:
    """Return the parts of a case that another tool measured, of which only the name is known."""
    return Case(workload=name, compiler="", batch_size=1, device=device).to_dict()
