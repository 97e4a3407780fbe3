"""Search for better schedules than those of the rules, with MetaSchedule, starting from the rules.

The protocol is the study's: a limited number of trials (1,500 there), an early end after 150 without gain, and
candidates chosen by a cost model of boosted trees. Every trial is a line in a database on disk. A search that was
interrupted or killed continues from there and counts the trials already made.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any

from pytest_ngraph.compilers.progress import report
from pytest_ngraph.compilers.tvm import adoption, imports, kernels, search, trial
from pytest_ngraph.compilers.tvm.database import Database
from pytest_ngraph.compilers.tvm.progress import Watch

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_ngraph.artifact import Target
    from pytest_ngraph.compilers.tvm.kernels import Kernel

SEEDS_PER_ROUND = 16


def tune(module: Any, tvm_target: Any, target: Target, folder: Path, trials: int, patience: int) -> tuple[Any, int]:
    """Search, and schedule the kernels for which the search found something better than the rule.

    Args:
        module: lowered, not scheduled.
        folder: where the trials are kept.
        trials: the limit over all runs together.
        patience: trials without gain that end the search.

    Returns:
        The module, and the number of trials made in all runs together.

    Raises:
        Unsupported: MetaSchedule would crash.
    """
    imports.check_tunable()
    imports.import_tensor_intrinsics()
    database = Database(folder)
    found = kernels.extract(module, tvm_target, database)
    with closing(trial.Rig(tvm_target, target)) as rig:
        seed(found, database, rig)
        watch = _watch(found, database, trials, patience)
        report(str(watch.progress()))
        if not watch.is_over:
            search.search(found, database, rig, watch, target.draw)
        adopted = adoption.adopt(found, database, rig)
    return apply(module, tvm_target, adopted), watch.trials


def seed(found: Sequence[Kernel], database: Database, rig: trial.Rig) -> None:
    """Time each kernel's schedule by rule, from which the search starts, unless the database has it."""
    known = {(workload, timed.trace) for workload, timed in database.trials()}
    new = [kernel for kernel in found if (kernel.hash, kernel.rule_trace) not in known]
    for start in range(0, len(new), SEEDS_PER_ROUND):
        report(f"timing the schedules by rule, {start} of {len(new)} kernels")
        batch = new[start : start + SEEDS_PER_ROUND]
        seconds = rig.seconds([kernel.by_rule.mod for kernel in batch])
        for kernel, each in zip(batch, seconds, strict=True):
            database.commit(kernel.record(kernel.by_rule, each))


def apply(module: Any, tvm_target: Any, adopted: Sequence[Any]) -> Any:
    """Return the module with the kernels of these records scheduled as in the records."""
    from tvm import relax
    from tvm.s_tir import meta_schedule

    chosen = meta_schedule.database.MemoryDatabase()
    for record in adopted:
        chosen.commit_workload(record.workload.mod)
        chosen.commit_tuning_record(record)
    with tvm_target, chosen:
        return relax.transform.MetaScheduleApplyDatabase()(module)


def _watch(found: Sequence[Kernel], database: Database, trials: int, patience: int) -> Watch:
    """Return a watch that knows the trials of earlier runs."""
    numbers = {kernel.hash: number for number, kernel in enumerate(found)}
    rules = [kernel.rule_trace for kernel in found]
    history = [(numbers[workload], timed) for workload, timed in database.trials() if workload in numbers]
    rules_s = {number: timed.seconds for number, timed in history if timed.trace == rules[number]}
    watch = Watch(
        rules_s=[rules_s[number] for number in range(len(found))],
        calls=[kernel.calls for kernel in found],
        limit=trials,
        patience=patience,
        listener=lambda progress: report(str(progress)),
    )
    for number, timed in history:
        if timed.trace != rules[number]:
            watch.recall(number, timed.seconds)
    return watch
