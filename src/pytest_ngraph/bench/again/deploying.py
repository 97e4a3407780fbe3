"""Compile a case again in worker processes, or take it from the cache, and let its compiler write what serves it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pytest_ngraph.artifact import Target
from pytest_ngraph.bench.again.compiled_again import answer, exported_again, prepared
from pytest_ngraph.bench.processes.workers import workers_alone
from pytest_ngraph.bench.progress import Progress
from pytest_ngraph.bench.rounds.preparer import Preparer
from pytest_ngraph.case import Case
from pytest_ngraph.serving.written import Written
from pytest_ngraph.settings import Settings


@contextmanager
def deploying(
    case: Case, target: Target, settings: Settings, graph: str, folder: Path, progress: Progress
) -> Iterator[Written]:
    """Write the case's model into a folder. Inside the context, this process still holds the machine.

    Args:
        graph: digest of the graph and weights that were measured.
        folder: where to write; empty.

    Raises:
        UsageError: the workload is another one than was measured, or it cannot be compiled or deployed.
        NgraphError: building, compiling or verifying fails.
    """
    with workers_alone(progress.waiting, settings.memory_bytes) as (workers, scratch):
        preparer = Preparer(workers=workers, settings=settings, progress=progress)
        artifact = exported_again(preparer, scratch / "group", case, target, graph, "deploy")
        arm = prepared(preparer, artifact, case, target)
        written = answer(case, "deployed", lambda: arm.deploy(folder))
        workers.close()  # what is launched next has the machine for itself
        yield written
