"""What is asked of cases besides their rounds: the options and thresholds of a session decide."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from pytest_ngraph.case import Case

if TYPE_CHECKING:
    from pytest_ngraph.record import Record


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Cases of which more than rounds is measured.

    Attributes:
        alone: cases whose head and base are also launched alone, for figures that a process holding both cannot give.
        calls: cases whose single calls are timed one by one.
        tails: cases whose single calls are also timed in turn with the base's, in further launches.
        served: cases whose costs to serve are measured; with a base, also those of the base.
        profiled: cases whose time is profiled.
        compile_s: cases whose seconds to compile are needed, so that nothing else may compile at that time.
        figures: cases whose figures something reads, so that they are measured even if they equal their base's.
    """

    alone: Collection[Case] = ()
    calls: Collection[Case] = ()
    tails: Collection[Case] = ()
    served: Collection[Case] = ()
    profiled: Collection[Case] = ()
    compile_s: Collection[Case] = ()
    figures: Collection[Case] = ()

    def of(self, case: Case) -> tuple[bool, ...]:
        """Return which of these are asked of a case."""
        return tuple(case in getattr(self, each.name) for each in fields(self))


NOTHING = Asked()


def lacking(record: Record, case: Case, asked: Asked) -> Iterator[str]:
    """Yield what is asked of a case that its record does not have."""
    if case in asked.figures and record.outcome == "unchanged":
        yield "it equals its base's, and its figures are needed now"
    if record.lacks_score(case):
        yield f"{case.scored_by} has not scored it"
    if case in asked.served and record.lacks_costs:
        yield "what serving costs was not measured"
    compared = record.comparison
    if case in asked.compile_s and record.lacks_compile_s:
        yield "its seconds to compile are not known"
    if case in asked.profiled and record.lacks_profile and not (compared and compared.problem):
        yield "its time was not profiled"
    if compared is None or not compared.launches:
        return
    if case in asked.alone and not (compared.alone or compared.alone_problem):
        yield "head and base were not launched alone"
    if case in asked.tails and record.calls and not (compared.calls or compared.calls_problem):
        yield "single calls of head and base were not compared"
