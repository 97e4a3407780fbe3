"""Processor time, memory and context switches of a worker that waits for work."""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import psutil
from distributed import Client
from markdown_output import table

from cluster_costs.started import cluster

SETTLED_S = 5.0
HEADING = ("worker", "CPU, % of one core", "resident, MiB", "context switches per second")


class Counters(NamedTuple):
    """Sums over several processes, since they began."""

    cpu_s: float
    switches: int
    resident_bytes: int


def declare(commands: Any) -> None:
    parser = commands.add_parser("idle", help="processor, memory and context switches of a worker that waits")
    parser.add_argument("--seconds", type=float, default=60.0, help="seconds to watch each; default: %(default)s")
    parser.set_defaults(find=find)


def find(folder: Path, parsed: argparse.Namespace) -> str:
    """Return the table of two workers that wait in one cluster, at the same time."""
    with cluster(folder, [("xeon", "xeon")]) as running:
        default = subprocess.Popen(
            [sys.executable, "-m", "dask", "worker", running.address],
            env=running.environment("default"),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            with Client(running.address, set_as_default=False) as client:
                client.wait_for_workers(2, timeout=60)
            time.sleep(SETTLED_S)
            workers = {
                "`pytest-ngraph device start`": processes(running.pid("xeon")),
                "`dask worker`, by default": processes(default.pid),
            }
            before = {name: counters(each) for name, each in workers.items()}
            time.sleep(parsed.seconds)
            after = {name: counters(each) for name, each in workers.items()}
        finally:
            default.terminate()
            default.wait(timeout=60)
    return table(HEADING, [row(name, before[name], after[name], parsed.seconds) for name in workers])


def row(name: str, before: Counters, after: Counters, seconds: float) -> tuple[str, ...]:
    cpu = 100 * (after.cpu_s - before.cpu_s) / seconds
    switches = (after.switches - before.switches) / seconds
    return name, f"{cpu:.2f}", f"{after.resident_bytes / 2**20:.0f}", f"{switches:.1f}"


def processes(pid: int) -> list[psutil.Process]:
    """Return a process and all that it started."""
    parent = psutil.Process(pid)
    return [parent, *parent.children(recursive=True)]


def counters(of: Iterable[psutil.Process]) -> Counters:
    every = list(of)
    times = [each.cpu_times() for each in every]
    return Counters(
        cpu_s=sum(each.user + each.system for each in times),
        switches=sum(switches(each.pid) for each in every),
        resident_bytes=sum(each.memory_info().rss for each in every),
    )


def switches(pid: int) -> int:
    """Return the context switches of all threads: psutil reports those of the first thread only."""
    statuses = [path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/status")]
    lines = [line for status in statuses for line in status.splitlines() if "ctxt_switches" in line]
    return sum(int(line.split()[1]) for line in lines)
