"""`pytest-ngraph report`: the summary of a stored run, again."""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path
from typing import Any

from pytest_ngraph import store
from pytest_ngraph.metrics import compute
from pytest_ngraph.report.summary import summary


def declare(commands: Any) -> None:
    parser = commands.add_parser("report", help="print the summary of a stored run again")
    parser.add_argument("store", nargs="?", type=Path, default=Path(".ngraph"), help="default: .ngraph")
    parser.add_argument("--run", dest="id", default="latest", help="a run's id; default: the latest")
    parser.set_defaults(run=_run)


def _run(parsed: argparse.Namespace) -> int:
    run = store.read(parsed.store, parsed.id)
    print(f"run {run.id}: {len(run.records)} records, {run.environment.get('processor', 'unknown processor')}")
    if run.damaged:
        print(f"{run.damaged} damaged lines were left out")
    width = shutil.get_terminal_size().columns
    for line in summary(run.records, compute(run.records), width=width):
        print(line.text)
    return 0
