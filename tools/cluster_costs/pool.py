"""A pool of equal devices against one of them.

Their compiler is a fake one that sleeps, so that they do not disturb each other on one machine.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from cluster.remote_project import RemoteProject
from markdown_output import table

from cluster_costs.started import cluster, seconds_of

SIZES = 20
HEADING = ("devices", "cases", "seconds", "times as fast as one")


def declare(commands: Any) -> None:
    parser = commands.add_parser("pool", help="three equal devices against one")
    parser.add_argument("--cases", type=int, default=600, help="cases, a multiple of 20; default: %(default)s")
    parser.add_argument("--devices", default="1,3", help="sizes of the pools; default: %(default)s")
    parser.add_argument("--budget", type=float, default=0.5, help="seconds of measuring per case; default: %(default)s")
    parser.set_defaults(find=find)


def find(folder: Path, parsed: argparse.Namespace) -> str:
    """Return the seconds of a whole session for each pool, from starting pytest to its end."""
    seconds = {count: session_s(folder / str(count), count, parsed) for count in map(int, parsed.devices.split(","))}
    one = seconds.get(1)
    return table(
        HEADING,
        [
            (str(count), str(parsed.cases), f"{taken:.1f}", f"{one / taken:.2f}" if one else "")
            for count, taken in seconds.items()
        ],
    )


def session_s(folder: Path, devices: int, parsed: argparse.Namespace) -> float:
    with cluster(folder, [(f"pool-{number}", "pool") for number in range(1, devices + 1)]) as running:
        project = RemoteProject(
            folder,
            running,
            ["pool"],
            workloads=[f"plain{number}" for number in range(parsed.cases // SIZES)],
            batch_sizes=range(1, SIZES + 1),
        )
        # The target is never met, so that every case takes its whole budget.
        return seconds_of(project, f"--ngraph-budget={parsed.budget}", "--ngraph-precision-target=0.0001%")
