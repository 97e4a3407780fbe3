"""Inline elementwise blocks, so that a kernel makes only as many passes over memory as it has reductions."""

from __future__ import annotations

from typing import Any

from pytest_ngraph.compilers.tvm.cpu import kernel


def inline(sch: Any) -> None:
    """Inline every elementwise block that is cheaper to compute where it is used than to store and read."""
    inlined = True
    while inlined:
        inlined = any(_inline_one(sch, block) for block in kernel.blocks(sch))


def _inline_one(sch: Any, block: Any) -> bool:
    from tvm.s_tir.schedule import ScheduleError

    if not _is_worth_inlining(sch, block):
        return False
    try:
        sch.compute_inline(block)
    except ScheduleError:  # the block writes its buffer in pieces, or at computed indices
        return False
    return True


def _is_worth_inlining(sch: Any, block: Any) -> bool:
    """Return whether a block is worth inlining.

    A contraction reads each element many times, so only a plain copy is inlined into it. Elsewhere every cheap block is
    inlined. A costly block (exp, division) is inlined only where that does not compute it more often: one block reads
    it, and does not broadcast it.
    """
    if not kernel.is_elementwise(sch, block) or kernel.is_output(sch, block):
        return False
    readers = sch.get_consumers(block)
    if any(kernel.is_contraction(sch, reader) for reader in readers):
        return _is_plain_copy(sch, block)
    if not _is_costly(sch, block):
        return True
    return len(readers) == 1 and kernel.iterations(sch, readers[0]) < 2 * kernel.iterations(sch, block)


def _is_plain_copy(sch: Any, block: Any) -> bool:
    """Return whether the block copies a buffer without changing an index, as padding by nothing does."""
    store = sch.get(block).body
    load = store.value
    if not kernel.is_load(load) or len(load.indices) != len(store.indices):
        return False
    return all(read.same_as(written) for read, written in zip(load.indices, store.indices, strict=True))


def _is_costly(sch: Any, block: Any) -> bool:
    """Return whether the block divides or calls a function, instead of only adding, multiplying and choosing."""
    import tvm_ffi
    from tvm import tirx
    from tvm.ir import Call

    costly: list[Any] = []

    def visit_call(call: Any) -> None:
        if call.op.name != "tirx.if_then_else":
            costly.append(call)

    tvm_ffi.structural_walk(sch.get(block).body, [(tirx.Div, costly.append), (Call, visit_call)])
    return bool(costly)
