"""Count how many models run under each compiler, through pytest-ngraph and by the compiler's own interface.

python tools/coverage.py                                   # every family; takes hours
python tools/coverage.py --family transformers --minutes 30
python tools/coverage.py --minutes 0 --write               # only write the tables into docs/coverage.md

Nothing is measured: each model is built, exported, compiled, verified and run once at batch size 1. Several models run
at once, each on one core. What was found is kept in docs/coverage, so that a run that was ended goes on where it
stopped, on any machine.
"""

from __future__ import annotations

import argparse
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import get_args

from markdown_output import ROOT, publish
from model_coverage import processes, tables
from model_coverage.entries import FAMILIES, Entry, entries
from model_coverage.missing import COMPILERS, run_missing
from model_coverage.results import Outcome, Result, Results, without_folder

from pytest_ngraph.machine import machine

PAGE = ROOT / "docs" / "coverage.md"
RESULTS = ROOT / "docs" / "coverage"
FOLDER = ROOT / ".ngraph" / "coverage"
CORES = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []


def main() -> None:
    options = _options()
    options.folder.mkdir(parents=True, exist_ok=True)
    results = Results(options.results, again=options.again)
    listed = entries(options.family, options.folder)
    if options.minutes > 0:
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        _run(listed, results, options)
    counts = {family: sum(entry.family == family for entry in listed) for family in options.family}
    found = tables.page([result for result in results.all() if result.family in counts], counts)
    publish(machine.environment(), found, "coverage" if options.write else "", PAGE)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--family", action="append", choices=FAMILIES, help="default: all")
    parser.add_argument("--compiler", default=",".join(COMPILERS), help="several are separated by commas")
    parser.add_argument(
        "--bare",
        choices=("others", "all"),
        default="others",
        help="which models run in a bare script as well: those that do not run through pytest-ngraph, or all",
    )
    parser.add_argument("--jobs", type=int, default=len(CORES) or 1, help="models at once, each on a core of its own")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="start no further model after these")
    parser.add_argument("--timeout", type=float, default=900, help="seconds for one model under one compiler")
    parser.add_argument("--memory", type=float, default=8, help="GiB for one process")
    parser.add_argument(
        "--again", action="append", default=[], choices=get_args(Outcome), help="run again what ended like this"
    )
    parser.add_argument("--results", type=Path, default=RESULTS, help="where results are kept; default: docs/coverage")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="keeps what takes long to find")
    parser.add_argument("--write", action="store_true", help=f"write the tables into {PAGE.name}")
    options = parser.parse_args()
    options.family = options.family or list(FAMILIES)
    options.compiler = options.compiler.split(",")
    return options


def _run(listed: Sequence[Entry], results: Results, options: argparse.Namespace) -> None:
    """Run what the results lack, several models at once, until the time is over."""
    ends = time.monotonic() + 60 * options.minutes
    limits = processes.Limits(timeout_s=options.timeout, memory_bytes=int(options.memory * 2**30))
    adding = threading.Lock()
    cores: queue.Queue[int] = queue.Queue()
    for job in range(options.jobs if CORES else 0):
        cores.put(CORES[job % len(CORES)])

    def run(number: int, entry: Entry) -> None:
        if time.monotonic() > ends:
            return
        for found in run_missing(entry, options.compiler, results, limits, bare_all=options.bare == "all"):
            result = without_folder(found, entry)
            with adding:
                results.add(result)
                print(f"[{number}/{len(listed)}] {_in_words(result)}", file=sys.stderr, flush=True)

    def take_core() -> None:
        """Keep this thread, and so the processes that it starts, on one core."""
        if CORES:
            os.sched_setaffinity(0, {cores.get()})

    with ThreadPoolExecutor(options.jobs, initializer=take_core) as pool:
        try:
            for running in [pool.submit(run, number, entry) for number, entry in enumerate(listed, 1)]:
                running.result()
        except BaseException:
            processes.interrupted.set()
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def _in_words(result: Result) -> str:
    reason = f": {result.reason}" if result.reason else ""
    return f"{result.family} {result.model} {result.compiler} {result.side} {result.outcome}{reason}"[:200]


if __name__ == "__main__":
    main()
