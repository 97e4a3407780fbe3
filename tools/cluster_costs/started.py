"""Clusters that end with the block that uses them."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from cluster.processes import COMMAND, Cluster
from fault_project import Project

PATIENCE_S = 3600


@contextmanager
def cluster(root: Path, devices: Sequence[tuple[str, str]] = ()) -> Iterator[Cluster]:
    """Run a scheduler and these devices. Each is given by its own name and the name that tests ask for."""
    made = Cluster(root, start=COMMAND)
    try:
        made.start_scheduler()
        for name, asked_for in devices:
            made.start_device(name, f"--device={asked_for}", joins=False)
        for name, _ in devices:
            made.wait_for(name, "joined")
        yield made
    finally:
        made.close()


def seconds_of(project: Project, *arguments: str) -> float:
    """Return the seconds of a session. Raise `RuntimeError` if a case was not measured."""
    begin = time.perf_counter()
    run = project.start("-q", *arguments)
    printed, _ = run.communicate(timeout=PATIENCE_S)
    seconds = time.perf_counter() - begin
    if run.returncode or {record.outcome for record in project.records.values()} != {"measured"}:
        raise RuntimeError(printed)
    return seconds
