"""`pytest-ngraph history`: what became slower over months of nightly runs, and since which commit."""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
import time
from collections import Counter
from typing import Any

from pytest_ngraph.cli.arguments import add_store, path, share
from pytest_ngraph.errors import UsageError
from pytest_ngraph.wording import counted

UNITS_S = {"h": 3600.0, "d": 86400.0, "w": 7 * 86400.0}
NONE = (
    "no history in {store}. A nightly job makes one: pytest --ngraph-history. Results of other tools can be imported: "
    "pytest-ngraph history import FILE."
)

NEVER_COMPARED = (
    "{count} new beside {anchor}, which was never compared with {before}: a slowdown between the two is not seen. "
    "Measure one commit beside both: pytest --ngraph-history={before}, then --ngraph-history={anchor}."
)


def declare(commands: Any) -> None:
    help_ = "show when cases became slower over months of nightly runs, or import such results of other tools"
    parser = commands.add_parser("history", help=help_, description=help_)
    add_store(parser)
    parser.add_argument("--case", default="", metavar="PATTERN", help="a part of the case's id, or a pattern with *")
    parser.add_argument("--branch", default="", metavar="NAME", help="only nights of this branch")
    parser.add_argument(
        "--since", type=_age, metavar="7d", help="only steps that became known in that time: 12h, 7d, 4w"
    )
    parser.add_argument(
        "--fail",
        action="store_true",
        help="exit with status 1 if there is a step to slower, or where one would not be seen",
    )
    parser.add_argument(
        "--level", type=share, default=0.01, metavar="SHARE", help="chance of a false step; default: 1%%"
    )
    tolerated = "with --fail, the slowdown that is tolerated; default: 1%%"
    parser.add_argument("--margin", type=share, default=0.01, metavar="SHARE", help=tolerated)
    outputs = parser.add_mutually_exclusive_group()
    outputs.add_argument("-o", "--output", type=path, metavar="DIR", help="write a page into this folder")
    outputs.add_argument("--json", action="store_true", help="print series and steps as JSON")
    parser.set_defaults(run=_run)
    actions = parser.add_subparsers(metavar="ACTION", required=False)
    importing = actions.add_parser("import", help="import results of pytest-benchmark (JSON) or asv (its results)")
    importing.add_argument("files", nargs="+", type=path, metavar="FILE", help="a JSON file, or a folder of them")
    add_store(importing, argparse.SUPPRESS)
    importing.set_defaults(run=_import)


def _run(parsed: argparse.Namespace) -> int:
    """Show the history. Returns the exit status: with `--fail`, 1 if a case became slower beside its anchor.

    So it is where a slowdown would not be seen: a file of the store cannot be read, a case is measured beside an anchor
    that was never compared with the one before, or it came to no ratio for too long. Imported seconds fail nothing.
    """
    from pytest_ngraph.history import series, texts, uncompared
    from pytest_ngraph.history.index import Index

    with Index(parsed.store) as index:
        index.update()
        unread = index.unread()
        for name, problem in index.problems().items():
            print(f"{parsed.store / name}: {problem}", file=sys.stderr)
        since = time.time() - parsed.since if parsed.since else 0.0
        found = series.load(index, parsed.case, parsed.branch, parsed.level, since)
        blind = list(uncompared.load(index, parsed.case, parsed.branch))
        known = found if found or blind else series.load(index)
        if not (known or blind):
            raise UsageError(NONE.format(store=parsed.store))
        if not (found or blind):
            branches = {row.branch for each in known for row in each.rows if row.branch}
            if parsed.branch and parsed.branch not in branches:
                raise UsageError.unknown("branch", parsed.branch, branches)
            raise UsageError.unknown("case", parsed.case, [each.case_id for each in known][:20])
        if parsed.json:
            print(json.dumps(texts.as_data(found), indent=1))
        elif parsed.output is not None:
            from pytest_ngraph.history import page

            print(page.write(found, index, parsed.output))
        else:
            for line in texts.in_lines(found):
                print(line)
    nights = [each.rows[-1] for each in found if each.unit == "ratio"] + [each.nights[-1] for each in blind]
    last_night = max((row.started_at for row in nights), default=math.inf)
    too_long = [each for each in blind if not each.is_new and each.is_too_long(since, last_night)]
    for line in texts.of_uncompared(too_long, [each for each in blind if each.is_new]):
        print(line, file=sys.stderr)
    if last_night < since:
        print(f"no night since {texts.day(since)}; the last one is of {texts.day(last_night)}", file=sys.stderr)
    beside = [step for each in found if each.unit == "ratio" for step in each.steps]
    is_worse = any(step.ratio.value > 1 + parsed.margin for step in beside)
    gaps = Counter((link.anchor, link.beside) for each in found for link in each.gaps(since))
    for (anchor, before), count in gaps.items() if parsed.fail else ():
        print(NEVER_COMPARED.format(count=counted(count, "case"), anchor=anchor, before=before), file=sys.stderr)
    is_blind = bool(unread or gaps or too_long) or last_night < since
    return 1 if parsed.fail and (is_worse or is_blind) else 0


def _import(parsed: argparse.Namespace) -> int:
    from pytest_ngraph.history import imports

    for line in imports.take(parsed.files, parsed.store):
        print(line)
    return 0


def _age(text: str) -> float:
    """Return the seconds of `7d`."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([hdw])", text.strip())
    if not found:
        raise argparse.ArgumentTypeError(f"{text!r} is not a time such as 12h, 7d or 4w")
    return float(found[1]) * UNITS_S[found[2]]
