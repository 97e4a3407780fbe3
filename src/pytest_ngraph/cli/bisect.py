"""`pytest-ngraph bisect`: which commit, or which library, made cases slower or faster."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_ngraph.cli.arguments import INTERRUPTED, Parser, add_store, share
from pytest_ngraph.errors import UsageError

if TYPE_CHECKING:
    from pytest_ngraph.bisect.journal import Journal
    from pytest_ngraph.bisect.options import Asked
    from pytest_ngraph.bisect.running import Points


def declare(commands: Any) -> None:
    parser: Parser = commands.add_parser(
        "bisect",
        usage="pytest-ngraph bisect GOOD [BAD] [options] [-- pytest's arguments]\n"
        "       pytest-ngraph bisect --python=GOOD --against-python=BAD [options] [-- pytest's arguments]\n"
        "       pytest-ngraph bisect --resume",
        help="find the commit, or the library, that made cases slower",
        description="Compare revisions between a good and a bad one with the good one, until each case that became "
        "slower has its commit. What follows two dashes goes to pytest, and selects the cases: -- benchmarks/ -k swin",
    )
    parser.rest = "arguments"
    parser.add_argument("good", nargs="?", default="", metavar="GOOD", help="a revision where the cases were fast")
    parser.add_argument("bad", nargs="?", default="", metavar="BAD", help="one where they are slow; default: HEAD")
    parser.add_argument(
        "--case",
        action="append",
        default=[],
        metavar="ID",
        help="only this case, by its id or a part of it; repeatable",
    )
    parser.add_argument("--improved", action="store_true", help="find what made cases faster")
    parser.add_argument("--first-parent", action="store_true", help="take a merge as one commit")
    parser.add_argument(
        "--python", default="", metavar="PATH", help="interpreter of an environment where they were fast"
    )
    parser.add_argument("--against-python", default="", metavar="PATH", help="of one where they are slow")
    parser.add_argument(
        "--find-links",
        action="append",
        default=[],
        metavar="DIR",
        help="folder of wheels that packages are installed from, instead of the index; repeatable",
    )
    parser.add_argument("--level", type=share, metavar="SHARE", help="chance of a false accusation; 1%%")
    parser.add_argument("--margin", type=share, metavar="SHARE", help="slowdown that is tolerated; 1%%")
    parser.add_argument(
        "--resume", nargs="?", const="latest", default="", metavar="ID", help="continue one that was interrupted"
    )
    parser.add_argument("--json", action="store_true", help="print the outcome as JSON")
    add_store(parser)
    parser.set_defaults(run=_run, arguments=[])


def _run(parsed: argparse.Namespace) -> int:
    from pytest_ngraph.bisect.journal import Journal
    from pytest_ngraph.bisect.running import points_of

    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that nothing is left behind, as after Ctrl-C
    store: Path = parsed.store.absolute()
    if parsed.resume:
        _refuse_others(parsed)
        with closing(Journal.reopen(store, parsed.resume)) as journal:
            asked = journal.asked.between(journal.ends)
            os.chdir(journal.begun_in)
            return _bisect(parsed, asked, points_of(asked, Path.cwd()), journal)
    asked = _asked(parsed)
    points = points_of(asked, Path.cwd())
    with closing(Journal.begin(store, asked, points.ends)) as journal:
        return _bisect(parsed, asked, points, journal)


def _bisect(parsed: argparse.Namespace, asked: Asked, points: Points, journal: Journal) -> int:
    """Bisect to the end, and print what came out. Returns the exit status."""
    from pytest_ngraph.bisect import lines
    from pytest_ngraph.bisect.journal import JournaledGate
    from pytest_ngraph.bisect.running import as_json, bisect

    try:
        gate = JournaledGate(points.gate(asked, journal.folder), journal)
        outcome = bisect(asked, points, gate, lambda line: print(line, file=sys.stderr, flush=True))
    except KeyboardInterrupt:
        print(f"\npytest-ngraph: interrupted. To resume: pytest-ngraph bisect --resume={journal.name}", file=sys.stderr)
        return INTERRUPTED
    except UsageError:
        journal.remove()
        raise
    finally:
        points.clean()
    journal.write({"outcome": outcome.to_dict()})
    if parsed.json:
        print(as_json(outcome, points))
    else:
        print("\n".join(lines.of_outcome(outcome, points.name, points.noun, improved=asked.improved)))
    return 0 if outcome.is_complete else 1


def _asked(parsed: argparse.Namespace) -> Asked:
    from pytest_ngraph.bisect.options import Asked

    libraries = bool(parsed.python or parsed.against_python)
    if libraries and not (parsed.python and parsed.against_python):
        raise UsageError("--python and --against-python belong together: the good environment, and the bad one.")
    if libraries and parsed.good:
        raise UsageError(
            f"{parsed.good}: environments are compared with the code as it is. Give revisions, or --python and "
            "--against-python."
        )
    if not (libraries or parsed.good):
        raise UsageError("nothing to bisect. Give the good revision, and the bad one where that is not HEAD.")
    shares = {name: getattr(parsed, name) for name in ("level", "margin")}
    return Asked(
        good=parsed.python or parsed.good,
        bad=parsed.against_python or parsed.bad or "HEAD",
        arguments=tuple(parsed.arguments),
        only=tuple(parsed.case),
        improved=parsed.improved,
        first_parent=parsed.first_parent,
        libraries=libraries,
        find_links=tuple(str(Path(each).absolute()) if Path(each).is_dir() else each for each in parsed.find_links),
        **{name: value for name, value in shares.items() if value is not None},
    )


def _refuse_others(parsed: argparse.Namespace) -> None:
    """Raise `UsageError` for what a resumed bisection was asked for before."""
    given = {
        "GOOD": parsed.good,
        "--case": parsed.case,
        "--improved": parsed.improved,
        "--first-parent": parsed.first_parent,
        "--python": parsed.python,
        "--against-python": parsed.against_python,
        "--find-links": parsed.find_links,
        "--level": parsed.level is not None,
        "--margin": parsed.margin is not None,
        "pytest's arguments": parsed.arguments,
    }
    if others := [name for name, value in given.items() if value]:
        raise UsageError(f"--resume continues what was asked before: leave out {', '.join(others)}.")
