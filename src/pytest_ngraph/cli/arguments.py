"""Types of arguments that several subcommands take."""

from __future__ import annotations

import argparse
from pathlib import Path


def path(text: str) -> Path:
    """A path; a shell leaves `~` as it is in `--store=~/runs`."""
    try:
        return Path(text).expanduser()
    except RuntimeError:
        raise argparse.ArgumentTypeError(f"{text}: there is no such home folder. Give the whole path.") from None
