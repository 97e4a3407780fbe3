"""`pytest-ngraph cache`: lists or removes cached compiled artifacts."""

from __future__ import annotations

import argparse
import time
from typing import Any

from pytest_ngraph.cli.arguments import path
from pytest_ngraph.errors import UsageError
from pytest_ngraph.system.files import compiled_folder
from pytest_ngraph.wording import counted
from pytest_ngraph.worker.cache import Cache, Entry


def declare(commands: Any) -> None:
    parser = commands.add_parser("cache", help="list cached compiled artifacts, or remove them")
    parser.add_argument("action", choices=("list", "clear"))
    parser.add_argument("--folder", type=path, help="default: the user's cache folder")
    parser.set_defaults(run=_run)


def _run(parsed: argparse.Namespace) -> int:
    folder = parsed.folder or compiled_folder()
    kept = Cache(folder)
    entries = kept.entries()
    if parsed.action == "clear":
        kept.clear()
        print(f"removed {counted(len(entries), 'compiled artifact')} from {folder}")
        return 0
    if kept.problem:
        raise UsageError(kept.problem)
    for entry in reversed(entries):
        made = time.strftime("%Y-%m-%d %H:%M", time.localtime(entry.made_at))
        size = f"{entry.size_bytes / 2**20:.1f} MiB"
        print(f"{made}  {size:>11}  {_seconds(entry):>9}  {_origin(entry)}")
    print(f"{counted(len(entries), 'artifact')}, {sum(e.size_bytes for e in entries) / 2**20:.1f} MiB in {folder}")
    return 0


def _seconds(entry: Entry) -> str:
    """Return how long compiling took; a dash where that is not known, because others compiled beside it."""
    return "-" if entry.compile_s is None else f"{(entry.convert_s or 0) + entry.compile_s:.1f} s"


def _origin(entry: Entry) -> str:
    return f"{entry.inputs.get('workload')} b{entry.inputs.get('batch_size')} {entry.inputs.get('compiler')}"
