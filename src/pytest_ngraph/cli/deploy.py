"""`pytest-ngraph deploy`: writes a folder that serves a measured model."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from pytest_ngraph import store
from pytest_ngraph.cli.arguments import INTERRUPTED, add_store, path
from pytest_ngraph.cli.live import Live
from pytest_ngraph.cli.project import add_devices, import_as_pytest, inventory
from pytest_ngraph.deploy import choice
from pytest_ngraph.errors import NgraphError
from pytest_ngraph.machine.devices import Device
from pytest_ngraph.metrics.text import number, quantity
from pytest_ngraph.record import Record
from pytest_ngraph.store import Run

WORTH_SAYING = 0.8
"""A folder that answers at less than this share of what was measured gets a line on it."""
SHORT_S = 2e-3
"""Passing arrays in and out, which takes tens of microseconds, is a part of calls that are shorter than this."""


def declare(commands: Any) -> None:
    parser = commands.add_parser(
        "deploy",
        help="write a folder that serves a measured model",
        description="Write what production needs of a measured model: the compiled model, serve.py, its requirements, "
        "sample inputs, reference outputs and a README. The model comes from the cache, or is compiled again.",
    )
    parser.add_argument(
        "run_id", nargs="?", default=store.LATEST, metavar="RUN", help="a run's id; default: the latest"
    )
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--case", metavar="ID", help="the case, by its id or a part of it: resnet18-openvino-b1-cpu")
    which.add_argument(
        "--best", action="store_true", help="the fastest compiler of each workload, at each size, precision and goal"
    )
    parser.add_argument(
        "-o", "--output", type=path, required=True, metavar="DIR", help="new folder; with --best, it gets one for each"
    )
    add_store(parser)
    add_devices(parser)
    parser.set_defaults(run=_run)


def _run(parsed: argparse.Namespace) -> int:
    from pytest_ngraph.deploy.folder import names_of, require_empty

    run = store.read(parsed.store, parsed.run_id)
    profiles = inventory(parsed)
    require_empty(parsed.output)
    chosen = choice.fastest(run) if parsed.best else [choice.by_id(run, parsed.case)]
    import_as_pytest(chosen)
    try:
        if not parsed.best:
            _deploy(chosen[0], run, profiles, parsed.output)
            return 0
        named = zip(chosen, names_of(chosen), strict=True)
        return max([_deployed(record, run, profiles, parsed.output / name) for record, name in named])
    except KeyboardInterrupt:
        print("\npytest-ngraph: interrupted; a folder that was not finished is not written", file=sys.stderr)
        return INTERRUPTED


def _deployed(record: Record, run: Run, profiles: dict[str, Device], folder: Path) -> int:
    """Deploy one of several: print a mistake, and return 1 for it."""
    try:
        _deploy(choice.require_deployable(record), run, profiles, folder)
    except NgraphError as error:
        print(f"pytest-ngraph: {error}", file=sys.stderr)
        return 1
    return 0


def _deploy(record: Record, run: Run, profiles: dict[str, Device], folder: Path) -> None:
    from pytest_ngraph.deploy.folder import deploy
    from pytest_ngraph.deploy.readme import in_words

    target = choice.target_of(record, profiles)
    settings = choice.settings_here()
    live = Live(sys.stdout)
    done = deploy(record, run, target, settings, folder, live)
    live.end(f"{record.case.id}: {folder}")
    for line in done.checked.splitlines():
        print(f"  {line}")
    for what, value in in_words(done.costs):
        print(f"  {value}: {what}")
    low, high = record.throughput_interval[1:]
    # `serve.py` copies its inputs to a GPU and the outputs back at every answer.
    where = "" if target.kind == "cpu" else ", with inputs and outputs in the device's memory"
    print(
        f"  {quantity(record.throughput, 'samples/s')} measured, 95 % interval {number(low)} to {number(high)}{where}"
    )
    if target.kind == "cpu" and done.per_s < WORTH_SAYING * low:
        call_s = done.streams * record.latency_s
        slower = f"serve.py is {record.throughput / done.per_s:.1f} times slower than that"
        arrays, call = "passes arrays in and out", f"calls of {quantity(call_s, 's')}"
        if call_s < SHORT_S:
            print(f"  {slower}: it {arrays}, which counts beside {call}. If the machine is busy, check again.")
        else:
            print(f"  {slower}. It {arrays}, but {call} take longer: check again when the machine is not busy.")
