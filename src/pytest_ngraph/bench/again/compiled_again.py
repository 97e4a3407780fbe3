"""A measured case once more: exported, and compiled again or taken from the cache, in worker processes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

from pytest_ngraph.artifact import Artifact, Target
from pytest_ngraph.bench.processes.exporting import export
from pytest_ngraph.bench.processes.process import WorkerFailed, WorkerProcess
from pytest_ngraph.bench.processes.workers import EXPORTER
from pytest_ngraph.bench.rounds.arm import Arm
from pytest_ngraph.bench.rounds.preparer import Preparer
from pytest_ngraph.case import Case
from pytest_ngraph.errors import NgraphError, Unsupported, UsageError
from pytest_ngraph.record import Failure

Result = TypeVar("Result")


def exported_again(preparer: Preparer, folder: Path, case: Case, target: Target, graph: str, purpose: str) -> Artifact:
    """Export the case's workload into a new folder.

    Args:
        graph: digest of the graph and weights that were measured.
        purpose: what it is exported for, as in "then deploy that run".

    Raises:
        UsageError: the workload is another one than was measured, or it cannot be built.
        NgraphError: building fails.
    """
    folder.mkdir()

    def ask() -> Artifact:
        exporter, on_phase = preparer.workers.resident(EXPORTER, target), partial(preparer.progress.phase, case)
        return export(exporter, case.group, folder, preparer.settings.timeout_s, on_phase=on_phase)

    artifact = answer(case, "built", ask)
    if artifact.digest != graph:
        raise UsageError(
            f"{case.id} is not what was measured: its workload builds another graph, or other weights. Measure it "
            f"again with pytest, then {purpose} that run."
        )
    return artifact


def prepared(
    preparer: Preparer,
    artifact: Artifact,
    case: Case,
    target: Target,
    worker: Callable[[], WorkerProcess] | None = None,
) -> Arm:
    """Return the case's arm, compiled, warmed up and verified as before measuring. Raises as `exported_again` does.

    Args:
        worker: returns where; without it, the compiler's resident worker does.
    """
    where = worker or partial(preparer.workers.resident, case.compiler, target)
    arm = Arm(case, artifact, target, preparer.settings, where)
    preparer.prepare(arm)
    require_it_runs(arm)
    return arm


def require_it_runs(arm: Arm) -> None:
    """Raise as `prepared` does where the arm failed or was skipped."""
    if arm.prepared.failure is not None:
        raise _failed(arm.case, arm.prepared.failure)
    if not arm.can_run:
        raise UsageError(f"{arm.case.id} cannot be compiled: {arm.prepared.skip_reason}")


def answer(case: Case, done: str, ask: Callable[[], Result]) -> Result:
    """Return a worker's answer, or raise why there is none. `done` is what was asked for: "deployed"."""
    try:
        return ask()
    except Unsupported as reason:
        raise UsageError(f"{case.id} cannot be {done}: {reason}") from None
    except WorkerFailed as error:
        raise _failed(case, error.failure) from None


def _failed(case: Case, failure: Failure) -> NgraphError:
    return NgraphError(f"{case.id} failed in {failure.phase}: {failure.message}\n{failure.stderr_tail}".rstrip())
