"""Search the schedules of all kernels by MetaSchedule's evolution, a round of one kernel at a time.

A search takes hours and must lose nothing when it is killed. MetaSchedule's own loop, `tune_tasks`, writes trials to
its database only rounds later; when started again it counts from zero and measures again what the database holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pytest_ngraph.compilers.tvm import trial
from pytest_ngraph.compilers.tvm.database import FAILED_S

if TYPE_CHECKING:
    from pytest_ngraph.compilers.tvm.database import Database
    from pytest_ngraph.compilers.tvm.kernels import Kernel
    from pytest_ngraph.compilers.tvm.progress import Watch

TRIALS_PER_ROUND = 16
"""Candidates of one kernel that are built together, before the search again chooses the most promising kernel."""
POPULATION = 8 * TRIALS_PER_ROUND
"""Candidates that the cost model rates per round. The ratio is MetaSchedule's, which tries 64 of 512."""


def search(kernels: Sequence[Kernel], database: Database, rig: trial.Rig, watch: Watch, draw: int = 0) -> None:
    """Add trials to the database until the watch says that the search is over, or nothing is left to try.

    Args:
        draw: seeds the search, so that another draw tries other candidates.
    """
    from tvm.s_tir.meta_schedule.cost_model import XGBModel

    model = XGBModel(num_tuning_cores=int(kernels[0].target.attrs["num-cores"]))
    evolutions = [Evolution(kernel, database, model, draw + number) for number, kernel in enumerate(kernels, start=1)]
    untried = set(range(len(kernels)))
    while untried and not watch.is_over:
        number = watch.most_promising(untried)
        candidates = evolutions[number].candidates()[: watch.limit - watch.trials]
        if not candidates:
            untried.remove(number)
            continue
        seconds = []
        for candidate, each in zip(candidates, rig.seconds([each.sch.mod for each in candidates]), strict=True):
            database.commit(kernels[number].record(candidate.sch, each))
            seconds.append(each)
        evolutions[number].learn(candidates, seconds)
        watch.measured(number, seconds)


class Evolution:
    """MetaSchedule's evolutionary search over one kernel's schedules. It continues from the trials in the database."""

    def __init__(self, kernel: Kernel, database: Database, model: Any, seed: int) -> None:
        """model: predicts which candidates are fast, from the trials of all kernels."""
        from tvm.s_tir import meta_schedule

        self._model = model
        records = database.records(kernel.workload)
        self._context = meta_schedule.TuneContext(
            mod=kernel.module,
            target=kernel.target,
            space_generator="post-order-apply",
            search_strategy=meta_schedule.search_strategy.EvolutionarySearch(population_size=POPULATION),
            task_name=kernel.name,
            rand_state=seed + len(records),  # a search that is continued draws other candidates
            num_threads=int(kernel.target.attrs["num-cores"]),
        )
        self._context.pre_tuning(
            max_trials=2**31 - 1,  # the watch enforces the limit
            num_trials_per_iter=TRIALS_PER_ROUND,
            design_spaces=self._context.generate_design_space(),
            database=database.tvm,
            cost_model=model,
        )
        known = [record.as_measure_candidate() for record in records]
        self._measured = {_identity(candidate) for candidate in known}
        self._update_model(known, [trial.mean(record.run_secs) for record in records])

    def candidates(self) -> list[Any]:
        """Return candidates of MetaSchedule that were not measured before; none where no more are found."""
        while candidates := self._context.generate_measure_candidates():
            new = [candidate for candidate in candidates if _identity(candidate) not in self._measured]
            if new:
                return new
        return []

    def learn(self, candidates: Sequence[Any], seconds: Sequence[float]) -> None:
        """Add the results of a round."""
        self._context.notify_runner_results(candidates, _results(seconds))
        self._update_model(candidates, seconds)

    def _update_model(self, candidates: Sequence[Any], seconds: Sequence[float]) -> None:
        if candidates:
            self._model.update(self._context, candidates, _results(seconds))


def _identity(candidate: Any) -> int:
    """Return a hash of the scheduled kernel. Its trace is no identity: different traces may give the same kernel."""
    from tvm_ffi import structural_hash

    return int(structural_hash(candidate.sch.mod))


def _results(seconds: Sequence[float]) -> list[Any]:
    from tvm.s_tir.meta_schedule.runner import RunnerResult

    return [RunnerResult(None, "failed") if each >= FAILED_S else RunnerResult([each], None) for each in seconds]
