"""Print what a stored baseline finds, and how often it is wrong, before and after learning from all cases together.

    python tools/baseline_margins.py [--trials=300] [--write]
    python tools/baseline_margins.py --store=DIR --runs=12 [--cases=60] [--budget=1] [--write]

The first simulates unchanged code. Rows have the number of cases, by how much the time of each differs from run to run,
and the way of judging; columns have the number of runs kept. A cell has the median of the smallest slowdown that is
found in 95 of 100 cases; in brackets, the share of runs in which any case is falsely called regressed (the level is
1 %), and how often the 90 % interval of a case covers its true change. Half of the variance is the machine's speed.

The second measures a small project of convolutional blocks again and again, until the folder has as many runs as asked
for, and judges each run against those before it. A later call with the same folder goes on. `--write` puts the tables
into docs/stored-baselines-measured.md.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Sequence
from pathlib import Path

import markdown_output
from baseline_trials import replay, simulation
from baseline_trials.tally import HEADING, WAYS

from pytest_ngraph.store import Run
from pytest_ngraph.wording import counted

PAGE = markdown_output.ROOT / "docs" / "stored-baselines-measured.md"
CASES = (1, 20, 60)
KEPT = (1, 2, 3, 5, 10)
INTRODUCTION = """\
The table shows the smallest slowdown that is found in 95 of 100 cases, as the median over cases, by the number of
cases, by how much the time of a case really differs from run to run, and by the number of runs kept. The first row of
three is what each case would find by itself. In brackets: the share of runs in which any case was falsely called
regressed, and how often the 90 % interval of a case covered the truth. Half of the variance is the machine's speed, and
four cases make a group; `unequally`: the cases' own variances differ, with four degrees of freedom. Simulated by
`python tools/baseline_margins.py --trials={trials}`:"""
SPREADS = ((0.01, math.inf), (0.03, math.inf), (0.03, 4.0), (0.1, math.inf))
"""How much runs differ, and the degrees of freedom of the cases' own variances."""


def simulated(trials: int, cases: Sequence[int], kept: Sequence[int]) -> str:
    """Return the table of simulated runs."""
    rows = []
    for count in cases:
        for spread, unequal in SPREADS:
            if count == 1 and math.isfinite(unequal):
                continue
            # A case alone takes little time, and few trials show little of it.
            found = [simulation.tallies(count, k, spread, unequal, trials * max(1, 20 // count)) for k in kept]
            label = f"{counted(count, 'case')}, {spread:.0%}{', unequally' if math.isfinite(unequal) else ''}"
            rows += [[f"{label}: {way}", *(each[way].short for each in found)] for way in WAYS]
    return markdown_output.table(["cases, runs differ by", *(f"{k} kept" for k in kept)], rows)


def replayed(folder: Path, cases: Sequence[int]) -> str:
    """Return the table of measured runs."""
    runs = replay.read(folder)
    most = max(len(run.records) for run in runs)
    rows = [row for count in cases if count <= most for row in _replayed(runs, count)]
    return markdown_output.table(["cases, runs kept", *HEADING], rows)


def _replayed(runs: Sequence[Run], cases: int) -> Iterator[list[str]]:
    for kept in KEPT:
        if kept < len(runs):
            found = replay.tallies(runs, cases, kept)
            yield from ([f"{counted(cases, 'case')}, {kept} kept: {way}", *found[way].cells] for way in WAYS)


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=300, help="simulated runs of each kind")
    parser.add_argument("--store", type=Path, metavar="DIR", help="replay runs measured into this store")
    parser.add_argument("--runs", type=int, default=12, help="runs that the store is to have")
    parser.add_argument("--cases", type=int, default=60, help="cases of the project, at most 15 for each compiler")
    parser.add_argument("--compilers", type=_listed, default=list(replay.COMPILERS), help="identity among them")
    parser.add_argument("--budget", type=float, default=1.0, help="seconds for the rounds of a case")
    parser.add_argument("--write", action="store_true")
    return parser.parse_args(arguments)


def _listed(text: str) -> list[str]:
    return text.split(",")


def main(arguments: Sequence[str] | None = None) -> None:
    asked = parse(arguments)
    if asked.store is None:
        found = f"{INTRODUCTION.format(trials=asked.trials)}\n\n{simulated(asked.trials, CASES, KEPT)}"
        print(found)
        if asked.write:
            markdown_output.write("baseline simulation", found, PAGE)
        return
    replay.measure(asked.store, asked.runs, asked.cases, asked.compilers, asked.budget)
    cases = sorted({1, *(count for count in CASES if count <= asked.cases), asked.cases})
    environment = replay.read(asked.store)[-1].environment
    section = "baseline replay" if asked.write else ""
    markdown_output.publish(environment, replayed(asked.store, cases), section, PAGE)


if __name__ == "__main__":
    main()
