"""`pytest-ngraph baseline`: runs kept under a name, for later runs to be compared with."""

from __future__ import annotations

import argparse
from statistics import median
from typing import Any

from pytest_ngraph.against.options import GateOptions
from pytest_ngraph.cli.arguments import add_action, add_store, path, share
from pytest_ngraph.record import Record
from pytest_ngraph.store import LATEST, baselines
from pytest_ngraph.wording import counted

DEFAULTS = GateOptions()


def declare(commands: Any) -> None:
    parser = commands.add_parser("baseline", help="list, show, anchor, remove, export or import stored baselines")
    actions = parser.add_subparsers(required=True, metavar="ACTION")

    def add(name: str, run: Any, help_: str, *arguments: str) -> argparse.ArgumentParser:
        action = add_action(actions, name, run, help_)
        for argument in arguments:
            action.add_argument(argument.lower(), metavar=argument, type=path if argument == "FILE" else str)
        add_store(action)
        return action

    add("list", _list, "list the baselines and how many runs each has")
    add("show", _show, "show a baseline's runs and the time of each case", "NAME")
    compare = add("compare", _compare, "judge a stored run against a baseline, without measuring", "NAME")
    compare.add_argument("run_id", nargs="?", default=LATEST, metavar="RUN", help="default: the last run")
    compare.add_argument(
        "--margin", type=share, default=DEFAULTS.margin, help="slowdown that is tolerated. Default: %(default)s"
    )
    compare.add_argument(
        "--level", type=share, default=DEFAULTS.level, help="chance of any false alarm in the run. Default: %(default)s"
    )
    compare.add_argument("--foreign-baseline", action="store_true", help="accept a baseline of another machine")
    bless = add("bless", _bless, "anchor a baseline, so that no more runs are added to it", "NAME")
    bless.add_argument("--undo", action="store_true", help="allow runs to be added again")
    add("remove", _remove, "remove a baseline; the store keeps its runs", "NAME")
    add("export", _export, "write a baseline into one file", "NAME", "FILE")
    importing = add("import", _import, "make a baseline from an exported file", "FILE")
    importing.add_argument("name", nargs="?", metavar="NAME", help="default: the file's name without .jsonl")


def _list(parsed: argparse.Namespace) -> int:
    names = baselines.names(parsed.store)
    for name in names:
        baseline = baselines.read(parsed.store, name)
        first, last = baseline.runs[0].id, baseline.runs[-1].id
        held = f"{counted(len(baseline.runs), 'run'):>8}, {counted(len(baseline.records), 'case')}"
        anchored = "  anchored" if baseline.anchored else ""
        print(f"{name:20} {held}, {first} to {last}{anchored}")
    if not names:
        print(f"no baselines in {parsed.store}. pytest --ngraph-save=NAME makes one.")
    return 0


def _show(parsed: argparse.Namespace) -> int:
    baseline = baselines.read(parsed.store, parsed.name)
    print(f"{baseline.label}{', anchored' if baseline.anchored else ''}")
    for run in baseline.runs:
        print(f"  run {run.id}:")
        for device in run.devices:
            about = run.environment_of(device)
            print(f"    {device}: {about.get('processor', 'unknown processor')}, {about.get('fingerprint', '')}")
    for case, records in baseline.records.items():
        print(f"  {case.id:48} {_times(records)}")
    return 0


def _compare(parsed: argparse.Namespace) -> int:
    """Print the verdicts that somebody has to look at, and how many there are of each. Returns 1 if any fails a run."""
    from pytest_ngraph.against.stored_run import compare

    options = GateOptions(
        compare=(parsed.name,), margin=parsed.margin, level=parsed.level, foreign_baseline=parsed.foreign_baseline
    )
    found = compare(parsed.store, parsed.run_id, options)
    for line in found.lines():
        print(line)
    return int(found.fails)


def _times(records: list[Record]) -> str:
    """Return the median over the runs, and their range: `1.203 ms  1.19 to 1.24 in 5 runs`."""
    times_ms = sorted(1000 * record.latency_s for record in records)
    text = f"{median(times_ms):10.4g} ms"
    if len(times_ms) > 1:
        text += f"  {times_ms[0]:.4g} to {times_ms[-1]:.4g} in {len(times_ms)} runs"
    return text


def _bless(parsed: argparse.Namespace) -> int:
    baselines.bless(parsed.store, parsed.name, anchored=not parsed.undo)
    state = "is no longer anchored: runs can be added" if parsed.undo else "is anchored: no more runs are added to it"
    print(f"baseline {parsed.name} {state}")
    return 0


def _remove(parsed: argparse.Namespace) -> int:
    baselines.remove(parsed.store, parsed.name)
    print(f"baseline {parsed.name} is removed")
    return 0


def _export(parsed: argparse.Namespace) -> int:
    runs = baselines.export(parsed.store, parsed.name, parsed.file)
    print(f"{parsed.file}: {counted(runs, 'run')} of baseline {parsed.name}")
    return 0


def _import(parsed: argparse.Namespace) -> int:
    name = parsed.name or parsed.file.name.removesuffix(".jsonl")
    runs = baselines.import_from(parsed.file, parsed.store, name)
    print(f"baseline {name}: {counted(runs, 'run')} from {parsed.file}")
    return 0
