"""Whether a stored record still stands, or why its case has to be measured again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pytest_ngraph.artifact import Target
from pytest_ngraph.machine import provenance
from pytest_ngraph.machine.host import THIS_MACHINE, Host
from pytest_ngraph.record import Record
from pytest_ngraph.settings import Settings
from pytest_ngraph.store import conforms

FollowsFrom = Callable[[Record], dict[str, Any]]
"""Returns what a record of a case would follow from if it were measured now."""


def staleness(record: Record, follows_from: FollowsFrom) -> list[str]:
    """Return why a record does not stand any more; empty when it does."""
    before: Mapping[str, Any] = record.follows_from
    if not (before.get("graph") and conforms(before.get("files"), dict[str, str])):
        unknown = "it is not known what they follow from"
        return [unknown if record.outcome == "measured" else "the workload could not be built"]
    return provenance.changes(before, follows_from(record))


def would_follow_from(
    record: Record,
    target: Target,
    settings: Settings,
    against: str,
    host: Host = THIS_MACHINE,
    tails_s: float = 0.0,
) -> dict[str, Any]:
    """Return what a record of an earlier session would follow from if its case were measured now.

    Args:
        against: identity of the base; empty for none.
        host: machine that would measure.
        tails_s: seconds of single calls; 0 where none are asked for.
    """
    return provenance.of_measuring(
        record.case,
        target,
        settings,
        graph=record.follows_from["graph"],
        files=host.digests(record.follows_from["files"]),
        against=against,
        failure=record.failure,
        tails_s=tails_s,
        host=host,
    )
