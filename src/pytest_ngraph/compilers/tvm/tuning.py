"""Search for better schedules than those of the rules, with MetaSchedule, starting from them.

The protocol is the study's: at most so many trials (it allowed 1,500), ended early by 150 without gain, candidates
chosen by a cost model of boosted trees. Every trial is a line in a database on disk. A search that was interrupted or
killed goes on from there, and counts what is done.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_ngraph.compilers.tvm import cpu, imports, trial
from pytest_ngraph.compilers.tvm.database import open_database
from pytest_ngraph.compilers.tvm.progress import Listener, NoGain, Watch, print_progress
from pytest_ngraph.compilers.tvm.target import processor

if TYPE_CHECKING:
    from pathlib import Path

PATIENCE = 150
TRIALS_PER_ROUND = 16
"""Candidates of one kernel that are built and run together, before the search turns to the most promising kernel."""


def tune(
    module: Any,
    tvm_target: Any,
    folder: Path,
    trials: int,
    *,
    listener: Listener = print_progress,
    patience: int = PATIENCE,
) -> tuple[Any, int]:
    """The module with each kernel in the best schedule known, and the trials that took in all runs together.

    module: lowered, not scheduled. trials: the limit over all runs. Raise `Unsupported` where MetaSchedule crashes.
    """
    imports.check_tunable()
    imports.import_tensor_intrinsics()
    database = open_database(folder)
    with _thread_pools_of(_threads(tvm_target)):
        tasks = [Task.of(extracted, database) for extracted in _extract(module, tvm_target)]
        _seed(tasks, tvm_target, database)
        seconds = [task.seconds(database) for task in tasks]
        watch = Watch(
            rules_s=[of_task[0] for of_task in seconds],
            best_s=[min(of_task) for of_task in seconds],
            weights=[task.weight for task in tasks],
            trials=sum(len(of_task) - 1 for of_task in seconds),
            limit=trials,
            patience=patience,
            listener=listener,
        )
        if watch.trials < trials:
            with suppress(NoGain):
                _search(tasks, tvm_target, database, folder, watch)
    return apply(module, tvm_target, database), watch.trials


def apply(module: Any, tvm_target: Any, database: Any) -> Any:
    """The module with each kernel that the database knows in its best schedule."""
    from tvm import relax

    with tvm_target, database:
        return relax.transform.MetaScheduleApplyDatabase()(module)


@dataclass(frozen=True, slots=True)
class Task:
    """A kernel to tune, as a module. weight: how often the model calls it. workload: its entry in the database."""

    name: str
    module: Any
    weight: int
    workload: Any

    @classmethod
    def of(cls, extracted: Any, database: Any) -> Task:
        module = extracted.dispatched[0]
        return cls(extracted.task_name, module, int(extracted.weight), database.commit_workload(module))

    def seconds(self, database: Any) -> list[float]:
        """Seconds of every candidate in the order in which they were measured; the first one is the rule's."""
        records = (record for record in database.get_all_tuning_records() if record.workload.same_as(self.workload))
        return [trial.mean(record.run_secs) for record in records]


def _extract(module: Any, tvm_target: Any) -> list[Any]:
    """The kernels of the module, each once."""
    from tvm.s_tir.meta_schedule import relax_integration

    return list(relax_integration.extract_tasks(module, tvm_target))


def _seed(tasks: list[Task], tvm_target: Any, database: Any) -> None:
    """Make each kernel's schedule by rule, or its naive one, the first record of the database."""
    from tvm.s_tir.meta_schedule.database import TuningRecord

    new = [task for task in tasks if not task.seconds(database)]
    schedules = [_by_rule(task, tvm_target) for task in new]
    seconds = trial.measure([schedule.mod for schedule in schedules], tvm_target)
    for task, schedule, each in zip(new, schedules, seconds, strict=True):
        arguments = trial.arguments(task.module)
        database.commit_tuning_record(TuningRecord(schedule.trace, task.workload, [each], tvm_target, arguments))


def _by_rule(task: Task, tvm_target: Any) -> Any:
    from tvm import s_tir

    (variable,) = task.module.get_global_vars()
    try:
        return cpu.schedule_kernel(task.module[variable], processor(tvm_target))
    except Exception:  # as in `cpu.schedule`, which counts it
        return s_tir.Schedule(task.module)


def _search(tasks: list[Task], tvm_target: Any, database: Any, folder: Path, watch: Watch) -> None:
    """Run MetaSchedule until the limit. Raise `NoGain` when the watch ends it."""
    from tvm.s_tir import meta_schedule

    contexts = [
        meta_schedule.TuneContext(
            mod=task.module,
            target=tvm_target,
            space_generator="post-order-apply",
            search_strategy="evolutionary",
            task_name=task.name,
            rand_state=seed,
            num_threads=_threads(tvm_target),
        ).clone()
        for seed, task in enumerate(tasks, start=1)
    ]
    remaining = watch.limit - watch.trials
    meta_schedule.tune_tasks(
        tasks=contexts,
        task_weights=[float(task.weight) for task in tasks],
        work_dir=str(folder),
        max_trials_global=remaining,
        num_trials_per_iter=min(TRIALS_PER_ROUND, remaining),
        builder=trial.builder(_threads(tvm_target)),
        runner=trial.runner(),
        database=database,
        cost_model="xgb",
        measure_callbacks=[*meta_schedule.measure_callback.MeasureCallback.create("default"), _callback(watch)],
    )


def _callback(watch: Watch) -> Any:
    """MetaSchedule's callback after each round, for the watch."""
    from tvm.ir.utils import derived_object
    from tvm.s_tir.meta_schedule.measure_callback import PyMeasureCallback

    @derived_object
    class Follow(PyMeasureCallback):  # type: ignore[misc]
        def apply(self, scheduler: Any, task: int, candidates: Any, built: Any, run: Any) -> None:
            watch.measured(int(task), [trial.mean(result.run_secs) for result in run])

    return Follow()


@contextmanager
def _thread_pools_of(threads: int) -> Iterator[None]:
    """Within, processes that are started run kernels on so many threads."""
    before = os.environ.get("TVM_NUM_THREADS")
    os.environ["TVM_NUM_THREADS"] = str(threads)
    try:
        yield
    finally:
        del os.environ["TVM_NUM_THREADS"]
        if before is not None:
            os.environ["TVM_NUM_THREADS"] = before


def _threads(tvm_target: Any) -> int:
    return int(tvm_target.attrs.get("num-cores", 1))
