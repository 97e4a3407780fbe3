"""`pytest-ngraph export`: writes a stored run in the format of another tool."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from pytest_ngraph import store
from pytest_ngraph.cli.arguments import STORE_HELP, path
from pytest_ngraph.errors import UsageError
from pytest_ngraph.metrics import compute
from pytest_ngraph.report.exchange import FORMATS, measured
from pytest_ngraph.wording import counted


def declare(commands: Any) -> None:
    parser = commands.add_parser("export", help="write a stored run for bencher or github-action-benchmark")
    parser.add_argument("store", nargs="?", type=path, help=STORE_HELP)
    parser.add_argument("--format", required=True, choices=sorted(FORMATS), help="format to write")
    parser.add_argument("--run", dest="id", default=store.LATEST, help="a run's id; default: the latest")
    parser.add_argument("-o", "--output", type=path, metavar="FILE", help="default: standard output")
    parser.set_defaults(run=_run)


def _run(parsed: argparse.Namespace) -> int:
    run = store.read(parsed.store, parsed.id)
    records = measured(run.records)
    if not records:
        raise UsageError(f"run {run.id} has no measurement to export. Give another run: --run=ID.")
    _write(json.dumps(FORMATS[parsed.format](records, compute(records)), indent=2) + "\n", parsed.output)
    left_out = len({record.case for record in run.records}) - len(records)
    if left_out:
        print(f"left out: {counted(left_out, 'case')} without a measurement", file=sys.stderr)
    return 0


def _write(text: str, path: Path | None) -> None:
    if path is None:
        print(text, end="")
        return
    try:
        path.write_text(text)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}. Give another file: --output=FILE.") from None
