"""Cases whose last nights beside an anchor came to no ratio: a slowdown in them would not be seen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from pytest_ngraph.errors import StoreError
from pytest_ngraph.history.index import Index
from pytest_ngraph.history.row import Row
from pytest_ngraph.history.series import glob, is_on
from pytest_ngraph.metrics.cells import why_not_measured
from pytest_ngraph.record import Record

MOST_NIGHTS = 7
"""So many nights in a row without a ratio are too many, where it is not asked since when: fewer are a passing fault."""
GONE_S = 7 * 86400.0
"""A case that none of the nights of this time before the last one has is no longer measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Uncompared:
    """A case whose last nights have no ratio.

    Attributes:
        nights: these nights, in order of time.
        last: when it had a ratio for the last time, in seconds since the epoch; None for never.
        is_new: the anchor does not have the case, and it never had a ratio.
        reason: why the last night has none; empty where that is not known.
    """

    case_id: str
    nights: Sequence[Row]
    last: float | None
    is_new: bool
    reason: str

    def is_too_long(self, since: float, last_night: float) -> bool:
        """Return whether it lasts since `since`, or without that (0) for `MOST_NIGHTS`.

        Args:
            since: seconds since the epoch.
            last_night: when the last night of the store began. A case that it no longer has is left out.
        """
        end = self.nights[-1].started_at
        if since:
            return end >= since > (self.last or 0.0)
        return len(self.nights) >= MOST_NIGHTS and end >= last_night - GONE_S


def load(index: Index, pattern: str = "", branch: str = "") -> Iterator[Uncompared]:
    """Yield the cases whose last nights have no ratio. The arguments are those of `series.load`."""
    for case_id, last in index.since_compared(glob(pattern), branch).items():
        rows = index.rows(case_id, since=last, anchored=True)
        nights = [row for row in rows if row.case_id == case_id and row.ratio is None and is_on(row, branch)]
        record = None
        with suppress(StoreError):
            record = index.record(nights[-1])
        is_new = record is not None and record.comparison is not None and record.comparison.new
        yield Uncompared(
            case_id=case_id,
            nights=nights,
            last=last,
            is_new=is_new and last is None,
            reason=_reason(record) if record else "",
        )


def _reason(record: Record) -> str:
    """Return why a record has no ratio."""
    comparison = record.comparison
    if comparison is None or comparison.lost:
        return why_not_measured(record)
    return "the anchor does not have it" if comparison.new else comparison.problem
