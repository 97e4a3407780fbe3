"""Measure how often bisecting names the right commit, beside `asv find`: slowdowns of known size, two conditions.

    python tools/bisect_trials.py --results=FILE [--repositories=20] [--asv=PYTHON] [--minutes=600] [--write]

Each trial is a repository of 64 commits, half of which do not touch the network. One of the others makes it slower by
real compute, whose cost is measured first, on the quiet machine; with 0 %, none does. Both commands bisect it.

Results go into a file. A later call with the same file continues until there are as many repositories of each kind as
asked for. `--minutes` ends a call after the trial that is running then. `--asv` is an interpreter with asv and
virtualenv; without it, `asv find` is left out. `--write` puts the table of all results into docs/bisect.md.
"""

from __future__ import annotations

import argparse
import json
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from itertools import product
from pathlib import Path

import markdown_output
from bisect_trial.finders import ASV, OURS, Finding, asv, ours
from bisect_trial.history import NETWORK, History, Trial
from gate_trials import conditions, injection
from gate_trials.results import Results

from pytest_ngraph.machine.machine import environment

PAGE = markdown_output.ROOT / "docs" / "bisect.md"
COMPILER = "torchscript"


def read(file: Path) -> list[Finding]:
    """Return the findings of earlier calls."""
    lines = file.read_text().splitlines() if file.exists() else []
    return [Finding.from_dict(json.loads(line)) for line in lines]


def planned(asked: argparse.Namespace, found: Iterable[Finding], finders: Sequence[str]) -> list[Trial]:
    """Return the trials that some finder lacks. Conditions and slowdowns take turns."""
    done = {(each.trial, each.finder) for each in found}
    kinds = product(range(asked.repositories), asked.slowdowns, asked.conditions)
    trials = [Trial(condition=condition, slowdown_percent=slowdown, seed=seed) for seed, slowdown, condition in kinds]
    return [trial for trial in trials if any((trial, finder) not in done for finder in finders)]


def rows_of(slowdowns: Sequence[float], results: Results, threads: int) -> dict[float, int]:
    """Return the excess rows for each slowdown, measured where the file does not have them yet."""
    missing = [each for each in slowdowns if each and (NETWORK, COMPILER, threads, each) not in results.injections]
    if missing:
        results.add(injection.calibrate(NETWORK, COMPILER, threads, missing))
    known = {each: results.injections[NETWORK, COMPILER, threads, each].rows for each in slowdowns if each}
    return {0.0: 0, **known}


def run(trial: Trial, rows: int, asked: argparse.Namespace) -> list[Finding]:
    """Bisect one repository with each command, in turn."""
    with tempfile.TemporaryDirectory(prefix="ngraph-trials-") as folder:
        (place := Path(folder, "repository")).mkdir()
        history = History(place, trial, asked.commits, rows, COMPILER, asked.threads)
        with conditions.held(trial.condition):
            found = [ours(trial, history, asked.threads)]
            if asked.asv:
                found.append(asv(trial, history, asked.threads, asked.asv))
    return found


def report(found: Sequence[Finding], commits: int) -> str:
    """Return the table."""
    rows = []
    for condition, text in conditions.CONDITIONS.items():
        for slowdown, finder in product(sorted({each.trial.slowdown_percent for each in found}), (OURS, ASV)):
            own = [
                each
                for each in found
                if (each.trial.condition, each.trial.slowdown_percent, each.finder) == (condition, slowdown, finder)
            ]
            if own:
                rows.append([text, f"{slowdown:g} %", finder, *_counts(own)])
    heading = ["machine", "slowdown", "command", "repositories", "right", "range with it", "wrong", "steps", "seconds"]
    return f"Repositories of {commits} commits.\n\n{markdown_output.table(heading, rows)}"


def _counts(found: Sequence[Finding]) -> list[str]:
    right, within = sum(each.right for each in found), sum(each.within for each in found)
    wrong = sum(each.named and not each.right for each in found)
    steps, seconds = (statistics.median(values) for values in zip(*((f.steps, f.seconds) for f in found), strict=True))
    is_none = not found[0].trial.slowdown_percent
    return [
        str(len(found)),
        "none to find" if is_none else str(right),
        str(within),
        str(wrong),
        f"{steps:g}",
        f"{seconds:.0f}",
    ]


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, required=True, metavar="FILE")
    parser.add_argument("--repositories", type=int, default=20, help="of each slowdown and condition")
    parser.add_argument("--slowdowns", type=_numbers, default=[0.0, 2.0, 3.0, 5.0], help="in percent")
    parser.add_argument("--conditions", type=lambda text: text.split(","), default=["quiet", "busy"])
    parser.add_argument("--commits", type=int, default=64)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--asv", default="", metavar="PYTHON")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no trial after this time")
    parser.add_argument("--write", action="store_true")
    return parser.parse_args(arguments)


def _numbers(text: str) -> list[float]:
    return [float(part) for part in text.split(",")]


def main() -> None:
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that nothing is left behind, as after Ctrl-C
    asked = parse()
    end = time.monotonic() + 60.0 * asked.minutes
    rows = rows_of(asked.slowdowns, Results(asked.results.with_suffix(".injections")), asked.threads)
    finders = (OURS, ASV) if asked.asv else (OURS,)
    found = read(asked.results)
    trials = planned(asked, found, finders)
    for number, trial in enumerate(trials, 1):
        if time.monotonic() >= end:
            print(f"{len(trials) - number + 1} trials are left. Run the same command again.", file=sys.stderr)
            break
        print(f"trial {number} of {len(trials)}: {trial}", file=sys.stderr)
        new = run(trial, rows[trial.slowdown_percent], asked)
        with asked.results.open("a") as file:
            file.writelines(json.dumps(each.to_dict()) + "\n" for each in new)
        found += new
    text = report(found, asked.commits)
    markdown_output.publish(environment(), text, "bisect trials" if asked.write else "", PAGE)


if __name__ == "__main__":
    main()
