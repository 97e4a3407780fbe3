"""`pytest-ngraph merge`: joins several stores into one."""

from __future__ import annotations

import argparse
from typing import Any

from pytest_ngraph.cli.arguments import path
from pytest_ngraph.store import merge
from pytest_ngraph.wording import counted


def declare(commands: Any) -> None:
    parser = commands.add_parser("merge", help="join stores of several machines or shards into one")
    parser.add_argument("stores", nargs="+", type=path, metavar="STORE", help="a folder of recorded runs")
    parser.add_argument("-o", "--output", type=path, required=True, metavar="STORE", help="store to write them to")
    parser.set_defaults(run=_run)


def _run(parsed: argparse.Namespace) -> int:
    """Merge the stores. Returns the exit status: 1 if a run was left out or is in conflict."""
    merged = merge(parsed.stores, parsed.output)
    for run, reason in merged.refused.items():
        print(f"left out: run {run}: {reason}")
    for run, reason in merged.conflicts.items():
        print(f"conflict: run {run}: {reason}. Both files stay as they are: keep one of them.")
    counts = {"added": merged.added, "continued": merged.continued, "already there": merged.equal}
    summary = ", ".join(f"{counted(len(runs), 'run')} {name}" for name, runs in counts.items())
    thinned = f", {counted(len(merged.summaries), 'thinned or imported run')} added" if merged.summaries else ""
    print(f"{parsed.output}: {summary}{thinned}")
    return 1 if merged.conflicts or merged.refused else 0
