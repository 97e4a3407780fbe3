"""Whether a measurement notices that another client sends an archive of 256 MiB to its device.

The case computes on one core. The sender and the scheduler, which would be other machines, have the other cores.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cluster.processes import HEAD
from cluster.remote_project import RemoteProject
from markdown_output import table

from cluster_costs.started import cluster, seconds_of
from pytest_ngraph.cluster import engine_settings
from pytest_ngraph.cluster.client.link import LOST, Link
from pytest_ngraph.cluster.project import LIMIT_BYTES, Packed
from pytest_ngraph.cluster.security import endpoint
from pytest_ngraph.errors import NgraphError

NETWORK = "mobilenetv3_small_050"
AGAIN_S = 1.0
SENDER = "sender"
HEADING = ("pair", "quiet, again / quiet", "while an archive is sent / quiet")


def declare(commands: Any) -> None:
    parser = commands.add_parser("quiet", help="a measurement while another client sends 256 MiB to the same device")
    parser.add_argument("--pairs", type=int, default=5, help="how often each is compared; default: %(default)s")
    parser.add_argument("--budget", type=float, default=5.0, help="seconds of measuring; default: %(default)s")
    parser.set_defaults(find=find)


def find(folder: Path, parsed: argparse.Namespace) -> str:
    """Return the ratios of a case's time, each of two runs one after the other, and their spread at last."""
    rows = []
    measured, *others = sorted(os.sched_getaffinity(0))
    if not others:
        raise SystemExit("quiet was started on 1 core. It needs 2: the sender must not compute on that of the case.")
    with cluster(folder, [("red", "red")]) as running:
        os.sched_setaffinity(running.pid(HEAD), others)
        for pair in range(parsed.pairs):
            quiet, again = (
                case_s(folder / f"{pair}-{name}", running, measured, parsed.budget) for name in ("quiet", "again")
            )
            with sending(running, others):
                beside = case_s(folder / f"{pair}-beside", running, measured, parsed.budget)
            rows.append((again / quiet, beside / quiet))
    shown = [(str(number + 1), *(f"{ratio:.4f}" for ratio in row)) for number, row in enumerate(rows)]
    medians = (f"{statistics.median(column):.4f}" for column in zip(*rows, strict=True))
    return table(HEADING, [*shown, ("median", *medians)])


def case_s(folder: Path, running: Any, core: int, budget_s: float) -> float:
    """Return the median time of one iteration of the network under PyTorch, on this core."""
    project = RemoteProject(folder, running, ["red"], workloads=[NETWORK], compilers=["identity"])
    (project.root / "devices.toml").write_text(f"[red]\ncores = [{core}]\n")
    seconds_of(project, f"--ngraph-budget={budget_s}", "--ngraph-precision-target=0.0001%")
    (record,) = project.records.values()
    return statistics.median(each.sample_s for each in record.rounds)


@contextmanager
def sending(running: Any, cores: Collection[int]) -> Iterator[None]:
    """Send archives from these cores to the devices of a cluster, again and again, while the block runs."""
    path = os.pathsep.join([str(Path(__file__).parents[1]), running.environment(SENDER)["PYTHONPATH"]])
    process = subprocess.Popen(
        [sys.executable, "-m", "cluster_costs.quiet", running.address],
        env=running.environment(SENDER) | {"PYTHONPATH": path},
    )
    os.sched_setaffinity(process.pid, cores)
    try:
        yield
    finally:
        process.kill()
        process.wait(timeout=60)


def main() -> None:
    """Send archives until this process is killed. A device that measures refuses them."""
    engine_settings.settle()
    link = Link(endpoint(sys.argv[1], None, insecure=True))
    packed = Packed(digest="0" * 64, content=os.urandom(LIMIT_BYTES))
    while True:
        for device in link.present():
            try:
                link.deliver(packed, SENDER, to=device.address).result()
            except (*LOST, NgraphError) as error:  # the archive is noise: a device that has all of it says so
                print(f"{device.name}: {error}", file=sys.stderr, flush=True)
        time.sleep(AGAIN_S)


if __name__ == "__main__":
    main()
