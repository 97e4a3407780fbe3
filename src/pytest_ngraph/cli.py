"""The command `pytest-ngraph`: what can be said without running tests."""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from pathlib import Path

from pytest_ngraph import compilers, store
from pytest_ngraph.cache import Cache, Entry, default_folder
from pytest_ngraph.devices import BUILT_IN
from pytest_ngraph.errors import NgraphError
from pytest_ngraph.machine import environment
from pytest_ngraph.metrics import compute
from pytest_ngraph.report.summary import summary


def main(arguments: list[str] | None = None) -> int:
    """Run a subcommand; the exit status is 2 for a user's mistake."""
    parsed = _parser().parse_args(arguments)
    try:
        return int(parsed.run(parsed))
    except NgraphError as error:
        print(f"pytest-ngraph: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="pytest-ngraph", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    report = commands.add_parser("report", help="print the summary of a stored run again")
    report.add_argument("store", nargs="?", type=Path, default=Path(".ngraph"), help="default: .ngraph")
    report.add_argument("--run", dest="id", default="latest", help="a run's id; default: the latest")
    report.set_defaults(run=_report)
    cached = commands.add_parser("cache", help="list compiled artifacts that are kept, or clear them")
    cached.add_argument("action", choices=("list", "clear"))
    cached.add_argument("--folder", type=Path, default=default_folder(), help="default: the user's cache folder")
    cached.set_defaults(run=_cache)
    doctor = commands.add_parser("doctor", help="show this machine, its devices and compilers, and what is missing")
    doctor.set_defaults(run=_doctor)
    return parser


def _report(parsed: argparse.Namespace) -> int:
    run = store.read(parsed.store, parsed.id)
    print(f"run {run.id}: {len(run.records)} records, {run.environment.get('processor', 'unknown processor')}")
    if run.damaged:
        print(f"{run.damaged} damaged lines were left out")
    width = shutil.get_terminal_size().columns
    for line in summary(run.records, compute(run.records), width=width):
        print(line.text)
    return 0


def _cache(parsed: argparse.Namespace) -> int:
    kept = Cache(parsed.folder)
    entries = kept.entries()
    if parsed.action == "clear":
        kept.clear()
        print(f"removed {len(entries)} compiled artifacts from {parsed.folder}")
        return 0
    for entry in reversed(entries):
        made = time.strftime("%Y-%m-%d %H:%M", time.localtime(entry.made_at))
        size = f"{entry.size_bytes / 2**20:.1f} MiB"
        print(f"{made}  {size:>11}  {entry.compile_s:7.1f} s  {_origin(entry)}")
    print(f"{len(entries)} artifacts, {sum(e.size_bytes for e in entries) / 2**20:.1f} MiB in {parsed.folder}")
    return 0


def _origin(entry: Entry) -> str:
    return f"{entry.inputs.get('workload')} b{entry.inputs.get('batch_size')} {entry.inputs.get('compiler')}"


def _doctor(_: argparse.Namespace) -> int:
    for name, value in environment().items():
        print(f"{name:18} {value}")
    print("\ndevices")
    for device in BUILT_IN.values():
        print(f"  {device.name:16} {device.absent() or 'this machine can be measured as this'}")
    print("\ncompilers")
    for name in compilers.names():
        print(f"  {name:16} {compilers.missing_library(name) or 'installed'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
