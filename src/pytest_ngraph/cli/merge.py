"""`pytest-ngraph merge`: one store of several."""

from __future__ import annotations

import argparse
from typing import Any

from pytest_ngraph.cli.arguments import path
from pytest_ngraph.store import merge
from pytest_ngraph.wording import counted


def declare(commands: Any) -> None:
    parser = commands.add_parser("merge", help="join stores of several machines or shards into one")
    parser.add_argument("stores", nargs="+", type=path, metavar="STORE", help="a folder of recorded runs")
    parser.add_argument("-o", "--output", type=path, required=True, metavar="STORE", help="where to put all of them")
    parser.set_defaults(run=_run)


def _run(parsed: argparse.Namespace) -> int:
    """The exit status is 1 when something was left out."""
    merged = merge(parsed.stores, parsed.output)
    for run, reason in merged.refused.items():
        print(f"left out: run {run}: {reason}")
    for run, reason in merged.conflicts.items():
        print(f"conflict: run {run}: {reason}. Both stay as they are: keep one of the files.")
    counts = {"added": merged.added, "continued": merged.continued, "already there": merged.equal}
    told = ", ".join(f"{counted(len(runs), 'run')} {name}" for name, runs in counts.items())
    print(f"{parsed.output}: {told}")
    return 1 if merged.conflicts or merged.refused else 0
