"""Find the kernels of a model that can be tuned, each once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pytest_ngraph.compilers.tvm import cpu, trial
from pytest_ngraph.compilers.tvm.database import Database, trial_of, workload_hash
from pytest_ngraph.compilers.tvm.target import processor


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel as a module of its own.

    Attributes:
        calls: how often the model runs it.
        workload: its entry in the database.
        by_rule: its schedule by rule, or its naive schedule where no rule fits.
    """

    name: str
    module: Any
    calls: int
    workload: Any
    by_rule: Any
    target: Any

    @property
    def hash(self) -> str:
        """The hash that identifies the kernel in the database."""
        return workload_hash(self.workload)

    def record(self, schedule: Any, seconds: float) -> Any:
        """Return a schedule of this kernel as MetaSchedule's `TuningRecord`."""
        from tvm.s_tir.meta_schedule.database import TuningRecord

        return TuningRecord(schedule.trace, self.workload, [seconds], self.target, trial.arguments(self.module))

    @property
    def rule_trace(self) -> str:
        """What the rule does, as the database writes it."""
        return trial_of(self.record(self.by_rule, 0.0)).trace


def extract(module: Any, tvm_target: Any, database: Database) -> list[Kernel]:
    """Return the kernels of a lowered module."""
    from tvm.s_tir.meta_schedule import relax_integration

    return [
        Kernel(
            name=extracted.task_name,
            module=extracted.dispatched[0],
            calls=int(extracted.weight),
            workload=database.tvm.commit_workload(extracted.dispatched[0]),
            by_rule=_by_rule(extracted.dispatched[0], tvm_target),
            target=tvm_target,
        )
        for extracted in relax_integration.extract_tasks(module, tvm_target)
    ]


def _by_rule(module: Any, tvm_target: Any) -> Any:
    from tvm import s_tir

    (variable,) = module.get_global_vars()
    try:
        return cpu.schedule_kernel(module[variable], processor(tvm_target))
    except Exception:  # as in `cpu.schedule`, which counts it
        return s_tir.Schedule(module)
