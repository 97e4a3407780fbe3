"""Seconds that a case costs beyond measuring. The compiler is a fake that is measured in no time."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cluster.remote_project import RemoteProject
from fault_project import Project
from markdown_output import table

from cluster_costs.started import cluster, seconds_of

FEW = 10
INSTANT = ("faulty:Instant",)
HEADING = ("measured", "seconds per case beyond measuring", "seconds per session besides")


def declare(commands: Any) -> None:
    parser = commands.add_parser("cases", help="seconds per case beyond measuring, local and remote")
    parser.add_argument("--cases", type=int, default=200, help="each a task of its own; default: %(default)s")
    parser.set_defaults(find=find)


def find(folder: Path, parsed: argparse.Namespace) -> str:
    """Return the cost per case: the slope between a session of few cases and one of many."""
    with cluster(folder, [("red", "red")]) as running:
        local = row(
            "on this machine",
            lambda count: Project(folder / f"local{count}", batch_sizes=range(1, count + 1), compilers=INSTANT),
            parsed.cases,
        )
        remote = row(
            "on a device of a cluster",
            lambda count: RemoteProject(
                folder / f"remote{count}",
                running,
                ["red"],
                workloads=["plain"],
                batch_sizes=range(1, count + 1),
                compilers=INSTANT,
            ),
            parsed.cases,
        )
    return table(HEADING, [local, remote])


def row(name: str, make: Callable[[int], Project], count: int) -> tuple[str, ...]:
    few, many = seconds_of(make(FEW)), seconds_of(make(FEW + count))
    per_case = (many - few) / count
    return name, f"{per_case:.3f}", f"{few - FEW * per_case:.1f}"
