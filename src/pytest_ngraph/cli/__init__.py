"""The command `pytest-ngraph`: what can be done without running tests. One file a subcommand."""

from __future__ import annotations

import argparse
import sys

from pytest_ngraph.cli import baseline, cache, doctor, export, merge, report, runs, tune
from pytest_ngraph.errors import NgraphError


def main(arguments: list[str] | None = None) -> int:
    """Run a subcommand; the exit status is 2 for a user's mistake."""
    parsed = _parser().parse_args(arguments)
    try:
        return int(parsed.run(parsed))
    except NgraphError as error:
        print(f"pytest-ngraph: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="pytest-ngraph", description="Benchmarks of neural-graph compilers.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for subcommand in (report, runs, merge, baseline, export, tune, cache, doctor):
        subcommand.declare(commands)
    return parser
