"""What TVM compiles for: its target, and what of the processor the scheduling rules go by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_ngraph.artifact import Target

FLOAT_BITS = 32

# Waking the other threads costs a microsecond or two, in which one core does about this many vector operations.
PARALLEL_FROM = 512

# A sum may be taken in any order and a product fused into it, as every library of kernels does: without leave to do
# so LLVM adds up the terms of a scalar reduction one by one. Infinities and NaNs keep their meaning.
RELAXED_SUMS = {"fast-math-contract": True, "fast-math-reassoc": True, "fast-math-nsz": True}


@dataclass(frozen=True, slots=True)
class Processor:
    """What the scheduling rules know of a processor.

    lanes: fp32 values in a vector register. registers: vector registers. threads: one to a core.
    """

    lanes: int
    registers: int
    threads: int = 1

    def lanes_dividing(self, extent: int) -> int:
        """The widest vector, up to a register's, that divides an axis."""
        return next(self.lanes >> n for n in range(self.lanes) if extent % (self.lanes >> n) == 0)

    def is_worth_waking_threads(self, operations: int) -> bool:
        """Whether so many fp32 operations are done sooner by several threads."""
        return self.threads > 1 and operations >= PARALLEL_FROM * self.lanes


VECTORS: dict[str, tuple[int, int]] = {
    "avx512f": (512 // FLOAT_BITS, 32),
    "avx2": (256 // FLOAT_BITS, 16),
    "neon": (128 // FLOAT_BITS, 32),
}
"""Lanes and registers by the feature of the processor, widest first."""

SSE = (128 // FLOAT_BITS, 16)


def tvm_target(target: Target) -> Any:
    """TVM's target for this machine: every instruction of its processor, or its GPU as the driver describes it."""
    import tvm
    from tvm.target import codegen

    host = {"kind": "llvm", "mtriple": codegen.llvm_get_system_triple(), "mcpu": codegen.llvm_get_system_cpu()}
    if target.kind == "cuda":
        return tvm.target.Target(tvm.target.Target.from_device(tvm.cuda(0)), host=tvm.target.Target(host))
    return tvm.target.Target(host | {"num-cores": target.threads} | RELAXED_SUMS)


def processor(tvm_target: Any) -> Processor:
    """The processor of a CPU target, by its features.

    TVM's `llvm_get_vector_width` says 512 of processors without AVX-512, so it is not asked.
    """
    from tvm.target import codegen

    threads = int(tvm_target.attrs.get("num-cores", 1))
    found = (size for feature, size in VECTORS.items() if codegen.target_has_features(feature, tvm_target))
    lanes, registers = next(found, SSE)
    return Processor(lanes, registers, threads)
