"""`pytest-ngraph explain`: where a measured case spends its time, or why one compiler is faster than another."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pytest_ngraph import store
from pytest_ngraph.cli.arguments import add_store, columns, count
from pytest_ngraph.cli.live import Live
from pytest_ngraph.cli.project import add_devices, import_as_pytest, inventory
from pytest_ngraph.deploy import choice
from pytest_ngraph.errors import UsageError
from pytest_ngraph.record import Record

if TYPE_CHECKING:
    from pytest_ngraph.artifact import Target
    from pytest_ngraph.case import Case
    from pytest_ngraph.explain.profile import Profile
    from pytest_ngraph.explain.widths import Probed
    from pytest_ngraph.settings import Settings


def declare(commands: Any) -> None:
    parser = commands.add_parser(
        "explain",
        help="show where a measured case spends its time, or why one compiler is faster than another",
        description="Profile a case, or two of one workload in turn, and lead the kernels back to the modules of the "
        "network. The models come from the cache, or are compiled again.",
    )
    parser.add_argument(
        "cases", nargs="+", metavar="CASE", help="a case by its id or a part of it, resnet18-openvino-b1; or two"
    )
    parser.add_argument("--run", default=store.LATEST, dest="run_id", metavar="RUN", help="default: the latest")
    add_store(parser)
    add_devices(parser)
    parser.add_argument(
        "--depth", type=count, metavar="N", help="names along a module's path; default: where something happens"
    )
    parser.add_argument(
        "--probe",
        action="store_true",
        help="measure the slowest layers of one case alone, at their width and at others nearby",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=_run)


def _run(parsed: argparse.Namespace) -> int:
    if len(parsed.cases) > 2:
        raise UsageError(f"explain was given {len(parsed.cases)} cases. Give one, or two to compare.")
    if parsed.probe and len(parsed.cases) == 2:
        raise UsageError("--probe was given two cases. It measures the layers of one: give one.")
    run = store.read(parsed.store, parsed.run_id)
    records = [choice.by_id(run, given) for given in parsed.cases]
    _require_one_workload(records)
    devices = inventory(parsed)
    import_as_pytest(records)
    targets = [choice.target_of(record, devices, purpose="explain") for record in records]

    from pytest_ngraph.bench.again.explaining import explaining
    from pytest_ngraph.explain.explanation import explain
    from pytest_ngraph.explain.widths import why_none
    from pytest_ngraph.report.explained import lines
    from pytest_ngraph.report.probed import lines as probed_lines

    live = Live(sys.stderr)
    settings = choice.settings_here()
    cases = [(record.case, target) for record, target in zip(records, targets, strict=True)]
    profiles = explaining(cases, settings, records[0].follows_from["graph"], live)
    explained = explain(profiles, parsed.depth)
    live.end("")
    if not parsed.json:  # at once: a layer that fails alone ends the command
        print("\n".join(lines(records[0].case.group_label, explained, columns())), flush=True)
    probed = _probed(profiles[0], *cases[0], settings, live) if parsed.probe else None
    if parsed.json:
        data = {"cases": [record.case.id for record in records]} | explained.to_dict()
        print(json.dumps(data if probed is None else data | {"widths": [each.to_dict() for each in probed]}))
    elif probed is not None:
        print("\n".join(["", *probed_lines(cases[0][0].compiler, probed, why_none(profiles[0]), columns())]))
    return 0


def _probed(profile: Profile, case: Case, target: Target, settings: Settings, live: Live) -> list[Probed]:
    """Return the slowest layers of a case, measured at several widths."""
    from pytest_ngraph.bench.again.probing import probing
    from pytest_ngraph.explain.widths import slow_layers

    found = [*probing(slow_layers(profile), case, target, settings, live)]
    live.end("")
    return found


def _require_one_workload(records: Sequence[Record]) -> None:
    """Raise `UsageError` for two cases that differ in more than the compiler, or not at all."""
    if len(records) == 1:
        return
    first, second = (record.case for record in records)
    if first == second:
        raise UsageError(f"both cases are {first.id}. Give one, or two that differ in the compiler.")
    if first.group != second.group:
        raise UsageError(
            f"{first.id} and {second.id} differ in more than the compiler. Give two cases of one workload at one size."
        )
