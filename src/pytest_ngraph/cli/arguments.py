"""Arguments, their types and an exit status that several subcommands share."""

from __future__ import annotations

import argparse
from pathlib import Path

INTERRUPTED = 130
"""The exit status after Ctrl-C, as shells give it."""


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
