"""Print a stored baseline's sensitivity: its widened margin and false alarms, by number of runs and their spread.

python tools/baseline_margins.py

Simulated: unchanged code, one case, log-normal times of the runs.
"""

from __future__ import annotations

import argparse
import math
from statistics import median

import numpy as np

from pytest_ngraph.gate import Rule
from pytest_ngraph.gate.baseline import BETWEEN_RUNS, decide
from pytest_ngraph.gate.launches import Effect
from pytest_ngraph.gate.pooling import departure

RUNS = (1, 2, 3, 5, 10, 20)
SPREADS = (0.01, 0.03, 0.1)
ERROR_WITHIN = 0.001
TRIALS = 5000


def row(spread: float) -> str:
    cells = []
    for runs in RUNS:
        random = np.random.default_rng(runs)
        trials = random.normal(0, spread, (TRIALS, runs + 1)).tolist()
        distances = (
            departure(Effect(head, ERROR_WITHIN), [Effect(time, ERROR_WITHIN) for time in times], BETWEEN_RUNS)
            for head, *times in trials
        )
        judged = [decide(distance, Rule()) for distance in distances]
        margin = math.expm1(median(each.margin for each in judged))
        alarms = sum(each.name == "regressed" for each in judged) / TRIALS
        cells.append(f"{100 * margin:.0f} % ({100 * alarms:.1f} %)")
    return f"| {100 * spread:.0f} % | {' | '.join(cells)} |"


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    print(f"| runs differ by | {' | '.join(f'{runs} kept' for runs in RUNS)} |")
    print(f"| {' | '.join(['---'] * (len(RUNS) + 1))} |")
    print("\n".join(row(spread) for spread in SPREADS))
