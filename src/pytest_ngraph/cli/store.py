"""`pytest-ngraph store`: keeps a store healthy and small: finds damage, forgets old runs, makes the index again."""

from __future__ import annotations

import argparse
from collections import Counter
from typing import Any

from pytest_ngraph.cli.arguments import add_action, add_store
from pytest_ngraph.wording import counted


def declare(commands: Any) -> None:
    parser = commands.add_parser("store", help="find damage in a store, forget old runs, or make its index again")
    actions = parser.add_subparsers(required=True, metavar="ACTION")

    def add(name: str, run: Any, help_: str) -> argparse.ArgumentParser:
        action = add_action(actions, name, run, help_)
        add_store(action)
        return action

    add("check", _check, "find damaged lines in runs, baselines and summaries")
    add("index", _index, "make the index again from all runs")
    prune = add("prune", _prune, "forget old runs, except those that baselines or unfinished sessions need")
    prune.add_argument("--keep-days", type=_days, required=True, metavar="N", help="keep the runs of the last N days")
    prune.add_argument("--thin", action="store_true", help="forget samples only, and keep a summary of each record")
    prune.add_argument("--dry-run", action="store_true", help="only show what would be forgotten")


def _check(parsed: argparse.Namespace) -> int:
    """Print what is damaged. Returns the exit status: 1 if anything is."""
    from pytest_ngraph.history.pruning import damage
    from pytest_ngraph.store import run_ids

    found = list(damage(parsed.store))
    for line in found:
        print(line)
    files = counted(len(found), "damaged file") if found else "no damage"
    print(f"{counted(len(run_ids(parsed.store)), 'run')} in {parsed.store}: {files}")
    return 1 if found else 0


def _index(parsed: argparse.Namespace) -> int:
    from pytest_ngraph.history.index import Index

    with Index(parsed.store) as index:
        index.rebuild()
        print(f"{counted(index.count(), 'record')} of {counted(index.changed, 'file')} in the index of {parsed.store}")
        for name, problem in index.problems().items():
            print(f"{name}: {problem}")
    return 0


def _prune(parsed: argparse.Namespace) -> int:
    from pytest_ngraph.history.pruning import prune

    pruned = prune(parsed.store, parsed.keep_days, thin=parsed.thin, dry=parsed.dry_run)
    would = "would be " if parsed.dry_run else ""
    if parsed.thin:
        print(f"{counted(len(pruned.thinned), 'run')} {would}thinned: samples forgotten, summaries kept")
    else:
        print(f"{counted(len(pruned.removed), 'run')} {would}removed")
    for reason, count in Counter(pruned.kept.values()).items():
        print(f"{counted(count, 'old run')} kept: {reason}")
    if not parsed.dry_run:
        print(f"{pruned.freed_bytes / 2**20:.1f} MiB freed")
    return 0


def _days(text: str) -> float:
    try:
        days = float(text)
    except ValueError:
        days = -1.0
    if not 0 <= days < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of days from 0 up, such as 90")
    return days
