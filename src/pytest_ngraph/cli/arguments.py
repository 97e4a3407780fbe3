"""Arguments, their types and an exit status that several subcommands share."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

INTERRUPTED = 130
"""The exit status after Ctrl-C, as shells give it."""


class Parser(argparse.ArgumentParser):
    """The parser of a subcommand, which may leave what follows two dashes to another program.

    Attributes:
        rest: the name under which that is found; empty where two dashes have argparse's own meaning.
    """

    rest = ""

    def parse_known_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> tuple[Any, list[str]]:  # type: ignore[override]
        """Parse what precedes the dashes, and keep the rest as it is."""
        given = list(sys.argv[1:] if args is None else args)
        if not self.rest:
            return super().parse_known_args(given, namespace)
        end = given.index("--") if "--" in given else len(given)
        parsed, unknown = super().parse_known_args(given[:end], namespace)
        setattr(parsed, self.rest, given[end + 1 :])
        return parsed, unknown


def add_store(parser: argparse.ArgumentParser) -> None:
    """Add `--store=DIR`."""
    parser.add_argument("--store", type=path, default=Path(".ngraph"), metavar="DIR", help="default: .ngraph")


def add_devices(parser: argparse.ArgumentParser) -> None:
    """Add `--devices=FILE`."""
    parser.add_argument("--devices", type=path, metavar="FILE", help="file with device profiles of your own (TOML)")


def path(text: str) -> Path:
    """Return the path, with `~` expanded: in `--store=~/runs` the shell leaves it as it is."""
    try:
        return Path(text).expanduser()
    except RuntimeError:
        raise argparse.ArgumentTypeError(f"{text}: there is no such home folder. Give the whole path.") from None
