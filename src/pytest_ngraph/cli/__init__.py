"""The command `pytest-ngraph`: everything that can be done without running tests.

`main` gets the command line and returns the exit status. Each subcommand is one file with a function `declare`, which
adds its options to the parser; running it prints to standard output and, for some, reads or writes a store. Open this
file first, then that of a subcommand.

Seven files are no subcommands. `arguments` and `credentials` hold options that several subcommands share, `live` shows
how far one is, and `project` finds the store and the devices of the project. `limits` has the options of a device's
limits, `fleet` has `device reserve`, `release` and `metrics`, and `sides` finds the two sides of `report --compare`.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from pytest_ngraph.cli.arguments import INTERRUPTED, Parser
from pytest_ngraph.cli.project import store_folder
from pytest_ngraph.errors import NgraphError

SUBCOMMANDS = (
    *("advise", "report", "history", "runs", "merge", "store", "baseline", "bisect", "export", "explain", "deploy"),
    *("tune", "device", "cluster", "cache", "doctor"),
)
"""Each is the name of its file, in the order of the help."""


def main(arguments: list[str] | None = None) -> int:
    """Run a subcommand. Returns the exit status: 2 for a user's mistake, and for what the system refuses;
    130 after Ctrl-C. A subcommand that can say how to continue does so itself."""
    words = sys.argv[1:] if arguments is None else arguments
    chosen = [word for word in words[:1] if word in SUBCOMMANDS]
    parsed = parser(chosen or SUBCOMMANDS).parse_args(words, argparse.Namespace(words=words))
    try:
        if "store" in parsed and parsed.store is None:
            parsed.store = store_folder(Path.cwd())
        status = int(parsed.run(parsed))
        sys.stdout.flush()
        return status
    except NgraphError as error:
        print(f"pytest-ngraph: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\npytest-ngraph: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # the reader, such as `head`, has closed the pipe: flushing it at exit must not fail either
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:  # a folder that cannot be written, a disk that is full
        print(f"pytest-ngraph: {error}", file=sys.stderr)
        return 2


def parser(subcommands: Sequence[str] = SUBCOMMANDS) -> argparse.ArgumentParser:
    """Return the parser. What it parses has `run`, the function that runs the chosen subcommand.

    Args:
        subcommands: those that it knows. Only their files are imported: some import much, which all others would wait
            for.
    """
    made = argparse.ArgumentParser(prog="pytest-ngraph", description="Benchmarks of neural-graph compilers.")
    commands = made.add_subparsers(required=True, metavar="COMMAND", parser_class=Parser)
    for name in subcommands:
        import_module(f"{__name__}.{name}").declare(commands)
    return made
