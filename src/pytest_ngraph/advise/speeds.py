"""How fast candidates are beside each other.

Other work, or a change of clock, slows all rounds of a cycle. By chance, that is more in the median of one candidate's
rounds than in another's, above all where one ended sooner. So it is taken away first. The logarithm of a round's time
has a part of the candidate and one of the cycle; median polish (Tukey, "Exploratory Data Analysis", 1977) finds both.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from pytest_ngraph.case import Case
from pytest_ngraph.record import Record
from pytest_ngraph.stats import Floats

PASSES = 10
"""How often one part is fitted, then the other."""


def speeds(groups: Iterable[Sequence[Record]]) -> dict[Case, float]:
    """Return the samples per second of each measured case, by the last of these groups that has it.

    Args:
        groups: records that were measured in turn.
    """
    found: dict[Case, float] = {}
    for group in groups:
        measured = [record for record in group if record.outcome == "measured"]
        found |= {record.case: record.throughput for record in measured} | _side_by_side(measured)
    return found


def _side_by_side(records: Sequence[Record]) -> dict[Case, float]:
    """Return the samples per second of those whose n-th rounds all ran in the n-th cycle; none without another."""
    cycles = next((record.cycles for record in records if record.cycles), None)
    beside = [record for record in records if cycles and record.cycles == cycles]
    if len(beside) < 2:
        return {}
    logs = np.full((len(beside), max(len(record.rounds) for record in beside)), np.nan)
    for row, record in zip(logs, beside, strict=True):
        row[: len(record.rounds)] = np.log(record.samples)
    seconds = np.exp(_of_arms(logs))
    return {record.case: record.case.batch_size / each for record, each in zip(beside, seconds.tolist(), strict=True)}


def _of_arms(logs: Floats) -> Floats:
    """Return the part of each arm in these logarithms of times, in a cycle that is as slow as most.

    Args:
        logs: shape (arms, cycles); NaN where an arm had no round.
    """
    own: Floats = np.nanmedian(logs, axis=1)
    for _ in range(PASSES):
        of_cycles = np.nanmedian(logs - own[:, None], axis=0)
        own = np.nanmedian(logs - of_cycles, axis=1)
    return own + float(np.median(of_cycles))
