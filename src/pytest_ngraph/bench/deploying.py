"""Compile a case again in worker processes, or take it from the cache, and let its compiler write what serves it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_ngraph.artifact import Artifact, Target
from pytest_ngraph.bench.compiled_again import answer, export, prepare
from pytest_ngraph.bench.lock import OTHERS_MEASURE, exclusive
from pytest_ngraph.bench.progress import Progress
from pytest_ngraph.bench.scratch import Scratch
from pytest_ngraph.bench.workers import Workers
from pytest_ngraph.case import Case
from pytest_ngraph.compilers.serving import Serving
from pytest_ngraph.record import Agreement
from pytest_ngraph.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What was written for a case.

    Attributes:
        serving: what only the compiler knows.
        inputs: name, type and shape of each.
        outputs: likewise.
        agreement: how close the outputs are to the reference.
    """

    serving: Serving
    inputs: list[list[str]]
    outputs: list[list[str]]
    agreement: Agreement


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
    with exclusive(lambda: progress.waiting(OTHERS_MEASURE)), closing(Scratch()) as scratch:
        with closing(Workers(scratch.folder, settings.memory_bytes)) as workers:
            exported = scratch.folder / "group"
            artifact = export(workers, exported, case, target, settings, graph, "deploy", progress)
            prepared = prepare(workers, artifact, case, target, settings, progress)
            written = _write(workers, artifact, case, target, settings, folder)
        assert prepared.agreement is not None
        serving = Serving.from_dict(written.pop("serving"))
        yield Written(serving=serving, agreement=prepared.agreement, **written)


def _write(
    workers: Workers, artifact: Artifact, case: Case, target: Target, settings: Settings, folder: Path
) -> dict[str, Any]:
    def ask() -> dict[str, Any]:
        return workers.resident(case.compiler, target).request(
            "deploy",
            timeout_s=settings.timeout_s,
            phase="compile",
            case=case.to_dict(),
            artifact=artifact.to_dict(),
            target=target.to_dict(),
            folder=str(folder),
        )

    return answer(case, "deployed", ask)
