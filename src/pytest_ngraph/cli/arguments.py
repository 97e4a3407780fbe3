"""Arguments, their types and an exit status that several subcommands share."""

from __future__ import annotations

import argparse
import math
import shutil
import sys
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar

from pytest_ngraph.errors import UsageError
from pytest_ngraph.machine.requirement import parse_size
from pytest_ngraph.sizes import parse_count, parse_seconds, parse_share

Parsed = TypeVar("Parsed")

WIDEST = 120
"""Columns of the widest table that is shown, however wide the terminal is."""
INTERRUPTED = 130
"""The exit status after Ctrl-C, as shells give it."""


class Parser(argparse.ArgumentParser):
    """The parser of a subcommand, which may leave what follows two dashes to another program.

    An option must be spelled out: argparse would read `--device` as `--devices`. What is unknown is an error of the
    subcommand, so that its usage is shown.

    Attributes:
        rest: the name under which that is found; empty where two dashes have argparse's own meaning.
    """

    rest = ""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"allow_abbrev": False} | kwargs)

    def parse_known_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> tuple[Any, list[str]]:  # type: ignore[override]
        """Parse what precedes the dashes, and keep the rest as it is."""
        given = list(sys.argv[1:] if args is None else args)
        end = given.index("--") if self.rest and "--" in given else len(given)
        parsed, unknown = super().parse_known_args(given[:end], namespace)
        if unknown:
            near = get_close_matches(unknown[0].partition("=")[0], self._option_string_actions, n=1)
            suggestion = f". Did you mean {near[0]}?" if near else ""
            self.error(f"unrecognized arguments: {' '.join(unknown)}{suggestion}")
        if self.rest:
            setattr(parsed, self.rest, given[end + 1 :])
        return parsed, []


STORE_HELP = "default: that of the ini key ngraph_store, as for pytest, else .ngraph"
"""What stands in for a store that is not given; `main` finds it."""


def add_store(parser: argparse.ArgumentParser, default: object = None) -> None:
    """Add `--store=DIR`. The default of an action must be `argparse.SUPPRESS` where its subcommand has the option, too:
    it would replace what precedes the action."""
    parser.add_argument("--store", type=path, default=default, metavar="DIR", help=STORE_HELP)


def add_action(actions: Any, name: str, run: Any, help_: str) -> argparse.ArgumentParser:
    """Add an action of a subcommand, such as `check` of `store`. Returns its parser.

    Args:
        actions: what `add_subparsers` returned.
        run: gets the parsed arguments, and returns the exit status.
    """
    action: argparse.ArgumentParser = actions.add_parser(name, help=help_, description=help_)
    action.set_defaults(run=run)
    return action


def path(text: str) -> Path:
    """Return the path, with `~` expanded: in `--store=~/runs` the shell leaves it as it is."""
    try:
        return Path(text).expanduser()
    except RuntimeError:
        raise argparse.ArgumentTypeError(f"{text}: there is no such home folder. Give the whole path.") from None


def columns() -> int:
    """Return how many columns a table may have."""
    return min(WIDEST, shutil.get_terminal_size((100, 24)).columns)


def above_zero(text: str) -> float:
    """Return a number above 0."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0.")
    return number


def checked(parse: Callable[[str], Parsed]) -> Callable[[str], Parsed]:
    """Return a type of arguments from a function that raises `UsageError`, whose message argparse then shows."""

    def parsed(text: str) -> Parsed:
        try:
            return parse(text)
        except UsageError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return parsed


size = checked(parse_size)
"""The type of an argument such as `512MiB`."""
share = checked(parse_share)
"""The type of an argument such as `5%` or `0.05`."""
seconds = checked(parse_seconds)
"""The type of an argument such as `20ms`, `2s` or `5min`."""
count = checked(parse_count)
"""The type of a whole number from 1 up."""


def counts(text: str) -> Sequence[int]:
    """Return whole numbers from 1 up, each once: `1,8`."""
    return tuple(dict.fromkeys(count(part) for part in text.split(",")))
