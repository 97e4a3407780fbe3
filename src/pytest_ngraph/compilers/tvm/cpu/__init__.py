"""Schedule fused kernels for a CPU: one rule for each kind of kernel.

In: a module of lowered, fused kernels and a `Processor`. Out: the module with its kernels scheduled, and the
`Coverage`. Open `kernel.py` first, which defines the kinds of blocks. The rules are `contraction.py` (with `tile.py`),
`rowwise.py`, `fold.py` and `elementwise.py`; `inline.py` runs before them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pytest_ngraph.compilers.tvm.cpu import contraction, elementwise, fold, inline, kernel, rowwise

if TYPE_CHECKING:
    from pytest_ngraph.compilers.tvm.target import Processor

IS_SCHEDULED = "tirx.is_scheduled"


@dataclass(slots=True)
class Coverage:
    """How the kernels of a module are scheduled.

    Attributes:
        tuned: number of kernels that a search scheduled.
        by_rule: number of kernels that a rule scheduled.
        by_fallback: number of kernels that no rule fits, which a rule for all kernels scheduled.
        naive: the kernels that no rule could schedule, name -> error.
    """

    tuned: int = 0
    by_rule: int = 0
    by_fallback: int = 0
    naive: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        scheduled = self.tuned + self.by_rule + self.by_fallback
        tuned = f", {self.tuned} of them tuned" if self.tuned else ""
        fallback = f", {self.by_fallback} of them by a fallback" if self.by_fallback else ""
        return f"{scheduled} of {scheduled + len(self.naive)} kernels scheduled{tuned}{fallback}"


def schedule(module: Any, processor: Processor) -> tuple[Any, Coverage]:
    """Schedule every kernel of the module that is not scheduled yet. The module is changed in place and returned.

    A kernel that no rule can schedule runs naively, in one thread.
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
        except Exception as error:  # each of TVM's layers raises its own type of error, and its Python code others
            coverage.naive[variable.name_hint] = (str(error).strip().splitlines() or [repr(error)])[-1]
            continue
        module.update_func(variable, function.with_body(scheduled.body).with_attr(IS_SCHEDULED, True))
        coverage.by_rule += 1
    return module, coverage


def schedule_kernel(function: Any, processor: Processor) -> Any:
    """Return TVM's `Schedule` of one kernel, by rule. Raises TVM's errors where a rule does not fit."""
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
