"""Print how much narrower the intervals of speedups are because the arms of a group take turns, and if they are right.

    python tools/paired_ratios.py [--trials=1000] [--stores DIR ...]

Simulated: two arms, one round each in every cycle, whose rounds end as those of a session do. A share of the variance
of their times is a disturbance of the cycle, which slows both. Disturbances and the rest are each correlated with those
of the cycle before. "Apart" takes the rounds of the two arms for independent of each other.

With stores, the same for the speedups that they hold: the median over the records of each device.
"""

from __future__ import annotations

import argparse
import dataclasses
import math
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import stopping_coverage
from markdown_output import table

from pytest_ngraph.case import Case
from pytest_ngraph.metrics import compute
from pytest_ngraph.record import Record, Round
from pytest_ngraph.stats import Estimate, Floats
from pytest_ngraph.store import read, run_ids
from pytest_ngraph.worker.measure import is_look

SHARES = (0.0, 0.5, 0.9)
"""Shares of the variance of a round's time that both arms have in common."""
SPREAD = 0.02
HEADING = ("correlation, shared", "covered in turn", "covered apart", "width in turn over apart", "rounds")


class Found(NamedTuple):
    """Speedups whose true value is 1: how often their intervals cover it, and the median width of these."""

    covered: float
    width: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=1000, help="trials of each row; 1000 are right to within 0.7 %%")
    parser.add_argument("--stores", type=Path, nargs="*", default=[], help="folders of stores with real records")
    parsed = parser.parse_args()
    rows = [row(r, share, parsed.trials) for r in stopping_coverage.CORRELATIONS for share in SHARES]
    print(table(HEADING, rows))
    if parsed.stores:
        runs = [read(folder, run) for folder in parsed.stores for run in run_ids(folder)]
        records = [record for run in runs for record in run.records]
        print("\n" + table(("device", "speedups in turn", "width in turn over apart"), of_stores(records)))


def row(correlation: float, share: float, trials: int) -> list[str]:
    """Return the row of disturbances that are this share of the variance."""
    records = [simulated(correlation, share, trial) for trial in range(trials)]
    in_turn, apart = found(records), found([alone(pair) for pair in records])
    rounds = np.mean([len(pair[0].rounds) for pair in records])
    label = f"{correlation:.1f}, {share:.0%}"
    width = in_turn.width / apart.width
    return [label, f"{in_turn.covered:.1%}", f"{apart.covered:.1%}", f"{width:.2f}", f"{rounds:.0f}"]


def simulated(correlation: float, share: float, seed: int) -> list[Record]:
    """Return the records of identity and another compiler that takes as long."""
    series = stopping_coverage.rounds(correlation, 1.0, (3, stopping_coverage.MOST_ROUNDS), seed)
    common, *own = np.log(series)
    arms = [np.exp(SPREAD * (math.sqrt(share) * common + math.sqrt(1 - share) * each)) for each in own]
    count = _settled_after(arms)
    return [
        Record(
            case=Case(workload="w", compiler=compiler, batch_size=1),
            outcome="measured",
            rounds=tuple(Round(1, seconds) for seconds in arm[:count].tolist()),
            cycles=f"{seed}",
        )
        for compiler, arm in zip(("identity", "other"), arms, strict=True)
    ]


def _settled_after(arms: Sequence[Floats]) -> int:
    """Return after how many rounds all arms are precise, at a planned look, or the budget is spent."""
    looks = [n for n in range(stopping_coverage.MOST_ROUNDS) if is_look(n, stopping_coverage.SETTINGS.min_rounds)]
    precise = (n for n in looks if all(stopping_coverage.planned(arm[:n]) for arm in arms))
    return next(precise, stopping_coverage.MOST_ROUNDS)


def alone(records: Sequence[Record]) -> list[Record]:
    """Return the records as if their rounds had nothing in common."""
    return [dataclasses.replace(record, cycles="") for record in records]


def found(groups: Sequence[Sequence[Record]]) -> Found:
    """Return what the speedups of these groups show, each of identity and one other compiler."""
    estimates = [speedups(group)[group[1].case] for group in groups]
    covered = np.mean([each.low <= 1 <= each.high for each in estimates])
    return Found(float(covered), float(np.median([each.width for each in estimates])))


def speedups(records: Sequence[Record]) -> dict[Case, Estimate]:
    """Return the speedups of the records that have one, without identity's own."""
    metrics = compute(records)
    own = {case: of_case["speedup"] for case, of_case in metrics.by_case.items()}
    return {case: each.estimate for case, each in own.items() if each.estimate and not each.by_definition}


def of_stores(records: Sequence[Record]) -> list[list[str]]:
    """Return a row for each device: of the speedups whose arms took turns, how wide they are over taken apart."""
    of_cycles: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        if record.cycles and record.rounds:
            of_cycles[record.cycles].append(record)
    widths: dict[str, list[float]] = defaultdict(list)
    for group in of_cycles.values():
        in_turn, apart = speedups(group), speedups(alone(group))
        for case, estimate in in_turn.items():
            if estimate.is_bounded and apart[case].width:
                widths[case.device].append(estimate.width / apart[case].width)
    return [[device, str(len(own)), f"{np.median(own):.2f}"] for device, own in sorted(widths.items())]


if __name__ == "__main__":
    main()
