"""Argument types and an exit status that several subcommands share."""

from __future__ import annotations

import argparse
from pathlib import Path

INTERRUPTED = 130
"""The exit status after Ctrl-C, as shells give it."""


def path(text: str) -> Path:
    """Return the path, with `~` expanded: in `--store=~/runs` the shell leaves it as it is."""
    try:
        return Path(text).expanduser()
    except RuntimeError:
        raise argparse.ArgumentTypeError(f"{text}: there is no such home folder. Give the whole path.") from None
