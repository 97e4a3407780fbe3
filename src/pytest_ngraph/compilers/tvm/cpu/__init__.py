"""Schedules for the fused kernels of a CPU: one rule for each kind of kernel, see the modules of this package."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pytest_ngraph.compilers.tvm.cpu import contraction, elementwise, fold, inline, kernel, rowwise

if TYPE_CHECKING:
    from pytest_ngraph.compilers.tvm.target import Processor

IS_SCHEDULED = "tirx.is_scheduled"


@dataclass(slots=True)
class Coverage:
    """How many kernels a search scheduled and how many a rule, and why the others run naively: the kernel's name -> the
    error."""

    tuned: int = 0
    by_rule: int = 0
    naive: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        scheduled = self.tuned + self.by_rule
        tuned = f", {self.tuned} of them tuned" if self.tuned else ""
        return f"{scheduled} of {scheduled + len(self.naive)} kernels scheduled{tuned}"


def schedule(module: Any, processor: Processor) -> tuple[Any, Coverage]:
    """Schedule every kernel of the module that is not yet. One that no rule can schedule runs naively, in one thread.

    The module is changed in place and returned.
    """
    from tvm.tirx import PrimFunc

    coverage = Coverage()
    for variable, function in module.functions_items():
        if not isinstance(function, PrimFunc):
            continue
        if function.attrs and IS_SCHEDULED in function.attrs:
            coverage.tuned += 1
            continue
        try:
            scheduled = schedule_kernel(function, processor).mod["main"]
        except Exception as error:  # TVM has an error of its own for each of its layers, and more in Python
            coverage.naive[variable.name_hint] = (str(error).strip().splitlines() or [repr(error)])[-1]
            continue
        module.update_func(variable, function.with_body(scheduled.body).with_attr(IS_SCHEDULED, True))
        coverage.by_rule += 1
    return module, coverage


def schedule_kernel(function: Any, processor: Processor) -> Any:
    """TVM's `Schedule` of one kernel, by rule. Raises TVM's errors where a rule does not fit."""
    import tvm
    from tvm import s_tir

    sch = s_tir.Schedule(tvm.IRModule({"main": function}))
    inline.inline(sch)
    if rowwise.applies(sch):
        rowwise.schedule(sch, processor)
        return sch
    for block in kernel.blocks(sch):
        if kernel.is_contraction(sch, block):
            contraction.schedule(sch, block, processor)
    for block in kernel.blocks(sch):
        if not kernel.is_plain(sch, block):
            continue
        rule = elementwise if kernel.is_elementwise(sch, block) else fold
        rule.schedule(sch, block, processor)
    return sch
