"""`pytest-ngraph runs`: lists the runs of a store and how each ended."""

from __future__ import annotations

import argparse
from collections import Counter
from typing import Any

from pytest_ngraph import store
from pytest_ngraph.cli.arguments import STORE_HELP, path
from pytest_ngraph.errors import StoreError
from pytest_ngraph.store import Run


def declare(commands: Any) -> None:
    parser = commands.add_parser("runs", help="list the runs of a store, and show which were not finished")
    parser.add_argument("store", nargs="?", type=path, help=STORE_HELP)
    parser.set_defaults(run=_run)


def _run(parsed: argparse.Namespace) -> int:
    runs = store.run_ids(parsed.store)
    for run in runs:
        try:
            print(_line(store.read(parsed.store, run), live=store.is_live(parsed.store, run)))
        except StoreError as error:
            print(f"{run}  {error}")
    if not runs:
        print(f"no runs in {parsed.store}. Run pytest to make one, or give another folder.")
    return 0


def _line(run: Run, *, live: bool) -> str:
    """Return a run's line: `20261121-154536-048213  cpu  57 measured, 2 failed, 41 unfinished  not finished`."""
    counts = Counter(record.outcome for record in run.records)
    parts = {
        "measured": counts["measured"],
        "failed": counts["failed"],
        "skipped": counts["skipped"],
        "crashed": 0 if live else len(run.crashed),
        "not measured" if run.whole else "unfinished": run.unfinished + (len(run.crashed) if live else 0),
        "damaged lines" if run.damaged > 1 else "damaged line": run.damaged,
    }
    devices = ",".join(sorted({case.device for case in (*(r.case for r in run.records), *run.deaths)}))
    outcomes = ", ".join(f"{count} {name}" for name, count in parts.items() if count) or "nothing measured"
    state = "being measured" if live else "" if run.whole else "not finished"
    return "  ".join(filter(None, (run.id, devices, outcomes, state)))
