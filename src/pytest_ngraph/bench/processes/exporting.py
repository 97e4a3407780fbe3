"""Have a worker build a workload and write what every compiler starts from."""

from __future__ import annotations

from pathlib import Path

from pytest_ngraph.artifact import Artifact
from pytest_ngraph.bench.processes.process import OnPhase, WorkerProcess
from pytest_ngraph.case import Case


def export(
    worker: WorkerProcess,
    case: Case,
    folder: Path,
    timeout_s: float,
    *,
    on_phase: OnPhase | None = None,
    instead_of: tuple[Path, Path] | None = None,
) -> Artifact:
    """Return what a worker exports a case to.

    Args:
        case: a case that stands for its group.
        folder: where to write it; empty.
        instead_of: as in `bench.beside_base.base.Base`, where the worker has the code of the copy.

    Raises:
        Unsupported: the workload cannot be built here.
        WorkerFailed: building fails.
    """
    answer = worker.request(
        "export",
        timeout_s=timeout_s,
        on_phase=on_phase,
        case=case.to_dict(),
        folder=str(folder),
        instead_of=[str(place) for place in instead_of or ()],
    )
    return Artifact.from_dict(answer)
