"""Profile measured cases in turn: compiled again, or taken from the cache."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from pytest_ngraph.artifact import Target
from pytest_ngraph.bench.again.compiled_again import answer, exported_again, prepared
from pytest_ngraph.bench.processes.workers import workers_alone
from pytest_ngraph.bench.progress import Progress
from pytest_ngraph.bench.rounds.preparer import Preparer
from pytest_ngraph.bench.rounds.profiled import ProfiledModel, run_in_turn
from pytest_ngraph.case import Case
from pytest_ngraph.explain.profile import Profile
from pytest_ngraph.settings import Settings


def explaining(
    cases: Sequence[tuple[Case, Target]], settings: Settings, graph: str, progress: Progress
) -> list[Profile]:
    """Return the profiles of one case, or of two of one workload, whose blocks run in turn.

    Args:
        graph: digest of the graph and weights that were measured.

    Raises:
        UsageError: the workload is another one than was measured, or a case cannot be compiled or profiled.
        NgraphError: building, compiling, verifying or profiling fails.
    """
    with workers_alone(progress.waiting, settings.memory_bytes) as (workers, scratch):
        (first, on), *_ = cases
        preparer = Preparer(workers=workers, settings=settings, progress=progress)
        artifact = exported_again(preparer, scratch / "group", first, on, graph, "explain")

        def profiled(case: Case, target: Target) -> ProfiledModel:
            prepared(preparer, artifact, case, target)
            ask = partial(_ask, preparer, case, target)
            return ProfiledModel(case.compiler, ask, case, artifact, target)

        models = [profiled(case, target) for case, target in cases]
        run_in_turn(models, lambda share: progress.measuring(first, share))
        return [model.profile for model in models]


def _ask(preparer: Preparer, case: Case, target: Target, do: str, /, **arguments: Any) -> dict[str, Any]:
    def ask() -> dict[str, Any]:
        worker = preparer.workers.resident(case.compiler, target)
        doing, timeout_s = partial(preparer.progress.doing, case), preparer.settings.timeout_s
        return worker.request(do, timeout_s=timeout_s, phase="measure", on_progress=doing, **arguments)

    return answer(case, "profiled", ask)
