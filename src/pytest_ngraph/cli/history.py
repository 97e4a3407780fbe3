"""`pytest-ngraph history`: what became slower over months of nightly runs, and since which commit."""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_ngraph.cli.arguments import add_store, path, share
from pytest_ngraph.errors import UsageError
from pytest_ngraph.wording import counted

if TYPE_CHECKING:
    from pytest_ngraph.history.index import Index
    from pytest_ngraph.history.series import Series
    from pytest_ngraph.history.uncompared import Uncompared

UNITS_S = {"h": 3600.0, "d": 86400.0, "w": 7 * 86400.0}
MOST_NAMED = 20
"""Cases that a message names."""
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
    from pytest_ngraph.history.index import Index

    with Index(parsed.store) as index:
        index.update()
        unread = index.unread()
        for name, problem in index.problems().items():
            _warn(f"{parsed.store / name}: {problem}")
        seen = _seen(index, parsed)
        _show(seen, index, parsed)
    for line in seen.without_ratios:
        _warn(line)
    for line in seen.without_links if parsed.fail else ():
        _warn(line)
    is_blind = bool(unread or seen.gaps or seen.too_long) or seen.last_night < seen.since
    return 1 if parsed.fail and (seen.is_slower(parsed.margin) or is_blind) else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """The part of a history that was asked for.

    Attributes:
        series: what was measured of each case, with its steps.
        blind: cases whose last nights came to no ratio.
        since: the time that is asked about, in seconds since the epoch; 0 for all.
    """

    series: Sequence[Series]
    blind: Sequence[Uncompared]
    since: float

    @property
    def last_night(self) -> float:
        """When the last night beside an anchor began; infinite where there was none."""
        nights = [each.rows[-1] for each in self._beside] + [each.nights[-1] for each in self.blind]
        return max((row.started_at for row in nights), default=math.inf)

    @property
    def too_long(self) -> list[Uncompared]:
        """The cases that have had no ratio for too long."""
        last_night = self.last_night
        return [each for each in self.blind if not each.is_new and each.is_too_long(self.since, last_night)]

    @property
    def gaps(self) -> Counter[tuple[str, str]]:
        """How many cases are measured beside an anchor that was never compared with an earlier one, by both."""
        return Counter((link.anchor, link.beside) for each in self.series for link in each.gaps(self.since))

    @property
    def without_ratios(self) -> Iterator[str]:
        """Which cases, and which nights, came to no ratio: a line each."""
        from pytest_ngraph.history import texts

        yield from texts.of_uncompared(self.too_long, [each for each in self.blind if each.is_new])
        if self.last_night < self.since:
            yield f"no night since {texts.day(self.since)}; the last one is of {texts.day(self.last_night)}"

    @property
    def without_links(self) -> Iterator[str]:
        """Which anchors were never compared with the one before: a line each."""
        for (anchor, before), count in self.gaps.items():
            yield NEVER_COMPARED.format(count=counted(count, "case"), anchor=anchor, before=before)

    def is_slower(self, margin: float) -> bool:
        """Return whether a case became slower by more than the margin, beside its anchor."""
        return any(step.ratio.value > 1 + margin for each in self._beside for step in each.steps)

    @property
    def _beside(self) -> list[Series]:
        """The series that were measured beside an anchor: others are seconds that were imported."""
        return [each for each in self.series if each.unit == "ratio"]


def _seen(index: Index, parsed: argparse.Namespace) -> _Seen:
    """Return what was asked for. Raise `UsageError` where there is none of it, with what there is."""
    from pytest_ngraph.history import series, uncompared

    since = time.time() - parsed.since if parsed.since else 0.0
    found = series.load(index, parsed.case, parsed.branch, parsed.level, since)
    blind = list(uncompared.load(index, parsed.case, parsed.branch))
    if found or blind:
        return _Seen(series=found, blind=blind, since=since)
    known = series.load(index)
    if not known:
        raise UsageError(NONE.format(store=parsed.store))
    branches = {row.branch for each in known for row in each.rows if row.branch}
    if parsed.branch and parsed.branch not in branches:
        raise UsageError.unknown("branch", parsed.branch, branches)
    raise UsageError.unknown("case", parsed.case, [each.case_id for each in known][:MOST_NAMED])


def _show(seen: _Seen, index: Index, parsed: argparse.Namespace) -> None:
    """Print the series, or write their page."""
    from pytest_ngraph.history import texts

    if parsed.json:
        print(json.dumps(texts.as_data(seen.series), indent=1))
    elif parsed.output is not None:
        from pytest_ngraph.history import page

        print(page.write(seen.series, index, parsed.output))
    else:
        for line in texts.in_lines(seen.series):
            print(line)


def _warn(line: str) -> None:
    print(line, file=sys.stderr)


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
