"""Simulated devices, all in one process: `python -m cluster_costs.devices SCHEDULER COUNT SECONDS FOLDER`.

They join, report progress and answer like real ones. Instead of measuring a case they sleep for SECONDS.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

from distributed import Worker, get_worker

from pytest_ngraph.cluster import engine_settings
from pytest_ngraph.cluster.answers import as_text
from pytest_ngraph.cluster.assignment import Task
from pytest_ngraph.cluster.device import task
from pytest_ngraph.cluster.device.folder import DeviceFolder
from pytest_ngraph.cluster.device.plugin import DevicePlugin
from pytest_ngraph.cluster.presence import introduction
from pytest_ngraph.cluster.resources import KEY, resource
from pytest_ngraph.cluster.security import endpoint
from pytest_ngraph.record import Phase, Record, Round

JOINED = "joined"
PHASES: tuple[Phase, ...] = ("build", "compile", "warm-up", "verify", "measure")
ROUNDS = tuple(Round(20, 0.05) for _ in range(30))


def names(count: int) -> list[str]:
    return [f"device{number}" for number in range(count)]


def measure(data: dict[str, Any], *, case_s: float) -> str:
    """Replace `task.measure`. `started_at` of each record is the time of the answer."""
    worker, given = get_worker(), Task.from_dict(data)
    sender = {"group": given.group, "worker": worker.name}
    for place in range(len(given.cases)):
        for phase in PHASES:
            worker.log_event(task.topic(given.assignment.client), {"case": place, "phase": phase, **sender})
            time.sleep(case_s / len(PHASES))
    now = time.time()
    records = [
        Record(case=case, outcome="measured", rounds=ROUNDS, stable=True, started_at=now) for case in given.cases
    ]
    return as_text({"rows": [(place, record.to_dict()) for place, record in enumerate(records)]})


def lacking(digests: Sequence[str], dask_worker: Worker) -> list[str]:
    """Replace `task.lacking`: no file of the project is needed."""
    del digests, dask_worker
    return []


async def join(address: str, name: str, folder: Path) -> Worker:
    scheduler = endpoint(address, None, insecure=True, part="measure")
    plugin = DevicePlugin(device=name, pool=name, folder=DeviceFolder(folder / name))
    worker = Worker(
        address,
        name=name,
        security=scheduler.security,
        nthreads=1,
        resources={resource(name): 1},
        memory_limit=0,
        dashboard_address=engine_settings.NO_DASHBOARD,
        local_directory=str(plugin.folder.scratch),
        plugins=(plugin,),
        startup_information={KEY: lambda _: introduction(name)},
    )
    await worker
    return worker


async def serve(address: str, count: int, folder: Path) -> None:
    workers = [await join(address, name, folder) for name in names(count)]
    print(JOINED, flush=True)
    await asyncio.gather(*(worker.finished() for worker in workers))


def main() -> None:
    address, count, case_s, folder = sys.argv[1:]
    engine_settings.settle()
    simulated = partial(measure, case_s=float(case_s))
    with patch.object(task, "measure", simulated), patch.object(task, "lacking", lacking):
        asyncio.run(serve(address, int(count), Path(folder)))


if __name__ == "__main__":
    main()
