"""A row of the index: a record by case, commit and time, and how it is selected."""

from __future__ import annotations

from typing import Any, NamedTuple

from pytest_ngraph.history.summary import Ratio
from pytest_ngraph.stats import Estimate


class Row(NamedTuple):
    """A record as the index has it.

    Attributes:
        file: the file that has the record, relative to the store.
        run: id of the run.
        commit: the commit that was measured, in full; empty where it is not known.
        anchor: the anchor that it was measured beside; empty where the run was not for a history.
        libraries: digest of the libraries' versions (`Index.facts`).
        machine: digest of the machine's facts.
        latency: as in `Summary`.
        ratio: as in `Summary`.
        offset: bytes of the journal before the record; None where only its summary is left.
    """

    case_id: str
    file: str
    run: str
    outcome: str
    started_at: float
    commit: str
    branch: str
    against: str
    anchor: str
    anchor_commit: str
    libraries: str
    machine: str
    latency: Estimate | None
    ratio: Ratio | None
    offset: int | None
    length: int


SELECT = """
SELECT cases.id, sessions.file, sessions.run, outcome, started_at, commit_id, branch, against, anchor, anchor_commit,
    libraries, machine, latency, latency_low, latency_high, log_ratio, error, ratio_low, ratio_high, offset, length
FROM records JOIN cases ON cases.number = case_number JOIN sessions ON sessions.id = session
"""


def row_of(found: tuple[Any, ...]) -> Row:
    """Return the row of what `SELECT` found."""
    *named, value, low, high, log, error, ratio_low, ratio_high, offset, length = found
    latency = None if value is None else Estimate(value, low, high)
    ratio = None if log is None else Ratio(log, error, ratio_low, ratio_high)
    return Row._make((*named, latency, ratio, offset, length))
