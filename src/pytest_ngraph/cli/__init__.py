"""The command `pytest-ngraph`: what can be done without running tests. One file a subcommand."""

from __future__ import annotations

import argparse
import os
import sys

from pytest_ngraph.cli import baseline, cache, cluster, device, doctor, export, merge, report, runs, tune
from pytest_ngraph.errors import NgraphError


def main(arguments: list[str] | None = None) -> int:
    """Run a subcommand; the exit status is 2 for a user's mistake, and for what the system refuses."""
    parsed = parser().parse_args(arguments)
    try:
        status = int(parsed.run(parsed))
        sys.stdout.flush()
        return status
    except NgraphError as error:
        print(f"pytest-ngraph: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader has enough, such as `head`; nor is it told when the interpreter ends
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:  # a folder that cannot be written, a disk that is full
        print(f"pytest-ngraph: {error}", file=sys.stderr)
        return 2


def parser() -> argparse.ArgumentParser:
    """Of every subcommand; what it parses has `run`, which runs it."""
    made = argparse.ArgumentParser(prog="pytest-ngraph", description="Benchmarks of neural-graph compilers.")
    commands = made.add_subparsers(required=True, metavar="COMMAND")
    for subcommand in (report, runs, merge, baseline, export, tune, device, cluster, cache, doctor):
        subcommand.declare(commands)
    return made
