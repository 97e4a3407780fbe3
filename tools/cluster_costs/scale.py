"""A client of many simulated devices: how fast it handles answers, and how much CPU time and memory it needs."""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
from cluster.processes import HEAD, Cluster
from cluster.remote_project import RemoteProject
from fault_project import finished, wait_until
from markdown_output import table

from cluster_costs.devices import JOINED, names
from cluster_costs.started import cluster, seconds_of

BATCH_SIZES = range(1, 11)
HEADING = (
    "devices",
    "cases",
    "session, s",
    "answer to record, median, s",
    "99 % within, s",
    "longest, s",
    "client's CPU, s",
    "its peak memory, MiB",
    "scheduler's CPU, s",
    "Ctrl-C to its end, s",
)
PROBE = """
import json, resource, time
late = []

def pytest_ngraph_record(record):
    late.append(time.time() - record.started_at)

def pytest_unconfigure():
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    cpu_s = sum(each.ru_utime + each.ru_stime for each in used)
    figures = {"late": sorted(late), "cpu_s": cpu_s, "peak_mib": max(each.ru_maxrss for each in used) / 1024}
    with open("figures.json", "w") as file:
        json.dump(figures, file)
"""


def declare(commands: Any) -> None:
    parser = commands.add_parser("scale", help="resources of a client with many devices")
    parser.add_argument("--devices", default="10,100", help="numbers of simulated devices; default: %(default)s")
    parser.add_argument(
        "--cases", type=int, default=100, help="cases per device, a multiple of 10; default: %(default)s"
    )
    parser.add_argument("--case-seconds", type=float, default=5.0, help="seconds per case; default: %(default)s")
    parser.set_defaults(find=find)


def find(folder: Path, parsed: argparse.Namespace) -> str:
    return table(HEADING, [row(folder / size, int(size), parsed) for size in parsed.devices.split(",")])


def row(folder: Path, devices: int, parsed: argparse.Namespace) -> tuple[str, ...]:
    with cluster(folder) as running, simulated(running, devices, parsed.case_seconds):
        project = RemoteProject(
            folder,
            running,
            names(devices),
            workloads=[f"plain{number}" for number in range(parsed.cases // len(BATCH_SIZES))],
            batch_sizes=BATCH_SIZES,
            compilers=["faulty:Instant"],
        )
        (project.root / "conftest.py").write_text(PROBE)
        session_s = seconds_of(project)
        project.assert_whole()
        figures = json.loads((project.root / "figures.json").read_text())
        scheduler = psutil.Process(running.pid(HEAD)).cpu_times()
        ended_s = interrupted_s(project)
    late = figures["late"]
    return (
        str(devices),
        f"{len(late):,}",
        f"{session_s:.0f}",
        *(f"{late[int(share * (len(late) - 1))]:.2f}" for share in (0.5, 0.99, 1)),
        f"{figures['cpu_s']:.0f}",
        f"{figures['peak_mib']:.0f}",
        f"{scheduler.user + scheduler.system:.0f}",
        f"{ended_s:.1f}",
    )


def interrupted_s(project: RemoteProject) -> float:
    """Return the seconds from Ctrl-C during a session to its end."""
    before = project.run_ids
    run = project.start("-q")
    wait_until(lambda: project.run_ids != before and len(project.records) > 0)
    begin = time.perf_counter()
    run.send_signal(signal.SIGINT)
    finished(run)
    return time.perf_counter() - begin


@contextmanager
def simulated(running: Cluster, count: int, case_s: float) -> Iterator[None]:
    """Run `count` simulated devices while the block runs."""
    tools = str(Path(__file__).parents[1])
    environment = running.environment("devices")
    path = os.pathsep.join([tools, environment["PYTHONPATH"]])
    process = subprocess.Popen(
        [sys.executable, "-m", "cluster_costs.devices", running.address, str(count), str(case_s), str(running.root)],
        env=environment | {"PYTHONPATH": path},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline().strip() == JOINED
        yield
    finally:
        process.kill()
        process.wait(timeout=60)
