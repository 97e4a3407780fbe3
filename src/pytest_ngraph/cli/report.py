"""`pytest-ngraph report`: shows stored runs on the terminal, or writes the tables, figures and page of a study."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_ngraph import store
from pytest_ngraph.cli import sides
from pytest_ngraph.cli.arguments import STORE_HELP, path
from pytest_ngraph.cli.project import store_folder
from pytest_ngraph.errors import UsageError
from pytest_ngraph.report import study
from pytest_ngraph.store import Outline, Run
from pytest_ngraph.wording import counted

if TYPE_CHECKING:
    from pytest_ngraph.report.study.data import Study
    from pytest_ngraph.report.study.sides import Sides


def declare(commands: Any) -> None:
    parser = commands.add_parser("report", help="show stored runs, or write every table and figure of a study")
    parser.add_argument(
        "stores", nargs="*", type=path, metavar="STORE", help=f"{STORE_HELP}; several are merged with -o"
    )
    parser.add_argument(
        "--run", dest="id", metavar="ID", help="one run; default: the latest on the terminal, all of them with -o"
    )
    parser.add_argument("-o", "--output", type=path, metavar="DIR", help="write a report into this folder")
    parser.add_argument("--before", nargs="+", type=path, default=[], metavar="STORE", help="show changes since these")
    parser.add_argument(
        "--compare",
        nargs=2,
        metavar=("A", "B"),
        help="two runs or devices side by side: how many times as fast B is, case by case; without a folder, print it",
    )
    single = parser.add_mutually_exclusive_group()
    single.add_argument("--figure", metavar="NAME", help="write only this figure into the folder")
    single.add_argument("--table", metavar="NAME", help="write only this table; without a folder, print it")
    parser.set_defaults(run=_run)


def _run(parsed: argparse.Namespace) -> int:
    own = store_folder(Path.cwd())
    stores = parsed.stores or [own]
    for each in stores:
        if each.name in store.run_ids(own) and not each.exists():
            raise UsageError(f"{each.name} is a run, and no store: pytest-ngraph report --run={each.name}")
    if parsed.output is not None:
        study.check(parsed.output)
        _write(_study(stores, parsed), parsed)
    elif parsed.figure or (parsed.before and not parsed.table):
        raise UsageError("--figure, and --before without --table, need a folder to write to: -o DIR.")
    elif parsed.table or parsed.compare:
        study.check_libraries()
        print(study.table_as_text(_study(stores, parsed), parsed.table or "side_by_side"), end="")
    else:
        for folder in stores:
            _print(store.read(folder, parsed.id or store.LATEST), folder)
    return 0


def _write(data: Study, parsed: argparse.Namespace) -> None:
    if parsed.figure:
        written = study.write_figure(data, parsed.figure, parsed.output)
    elif parsed.table:
        written = study.write_table(data, parsed.table, parsed.output)
    else:
        written = study.write(data, parsed.output)[:1]
    for each in written:
        print(each)


def _study(stores: Sequence[Path], parsed: argparse.Namespace) -> Study:
    from pytest_ngraph.against.processes import calibrated
    from pytest_ngraph.report.study.data import Study

    runs: Iterable[Run | Outline] = _runs(stores, parsed.id)
    compared = None
    if parsed.compare:
        runs, compared = _compared(parsed.compare, stores, parsed.id)
    data = Study.of(runs, _runs(parsed.before, None), between=calibrated, sides=compared)
    for warning in data.warnings:
        print(f"pytest-ngraph: {warning}", file=sys.stderr)
    return data


def _compared(names: Sequence[str], stores: Sequence[Path], run: str | None) -> tuple[list[Run], Sides]:
    """Return what is shown, and the two sides that are compared: of runs, the second is shown.

    Raises `UsageError` for what is neither a run nor a device, and for one that is compared with itself.
    """
    if names[0] == names[1]:
        raise UsageError(f"--compare {names[0]} {names[1]}: that is the same. Name two runs, or two devices.")
    if (found := sides.runs_named(names, stores)) is not None:
        return found[1:], sides.of_runs(found)
    runs = [replace(each.run, records=tuple(each.records())) for each in _runs(stores, run)]
    return runs, sides.of_devices(names, runs)


def _runs(stores: Sequence[Path], run: str | None) -> Iterator[Outline]:
    """Yield one run of each store, or all of its runs. Raises `StoreError` for a store that has none."""
    for folder in stores:
        for each in [run] if run else store.run_ids(folder) or [store.LATEST]:
            found = store.outlined(folder, each)
            if found.run.damaged:
                print(f"pytest-ngraph: run {found.run.id}: {_left_out(found.run)}", file=sys.stderr)
            yield found


def _left_out(run: Run) -> str:
    return f"{counted(run.damaged, 'line')} left out: not readable as a record by this version"


def _print(run: Run, folder: Path) -> None:
    from pytest_ngraph.against.processes import known
    from pytest_ngraph.metrics import compute
    from pytest_ngraph.report.summary import summary

    environments = run.environments or {"": run.environment}
    processors = dict.fromkeys(each.get("processor", "unknown processor") for each in environments.values())
    print(f"run {run.id}: {counted(len(run.records), 'record')}, {', '.join(processors)}")
    if run.damaged:
        print(_left_out(run))
    metrics = compute(run.records, between=known(run.records, folder))
    for line in summary(run.records, metrics, width=shutil.get_terminal_size().columns):
        print(line.text)
    if any(record.comparison for record in run.records):
        print("\nVerdicts are not shown here. To keep those of a run, use pytest --ngraph-summary=FILE.")
