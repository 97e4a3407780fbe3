"""Clusters that are gone when what they are for is done."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from cluster.processes import Cluster
from fault_project import Project

PATIENCE_S = 3600


@contextmanager
def cluster(root: Path, devices: Sequence[tuple[str, str]] = ()) -> Iterator[Cluster]:
    """One whose scheduler runs, and these devices, each given by its own name and what tests ask for."""
    made = Cluster(root)
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
    """How long a session takes in which every case is measured. Raises `RuntimeError` for another."""
    begin = time.perf_counter()
    run = project.start("-q", *arguments)
    printed, _ = run.communicate(timeout=PATIENCE_S)
    seconds = time.perf_counter() - begin
    if run.returncode or {record.outcome for record in project.records.values()} != {"measured"}:
        raise RuntimeError(printed)
    return seconds
