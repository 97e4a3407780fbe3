"""Describe what TVM compiles for: its target, and the processor as the scheduling rules see it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_ngraph.errors import Unsupported

if TYPE_CHECKING:
    from pytest_ngraph.artifact import Target

FLOAT_BITS = 32

# Waking the other threads takes a microsecond or two, in which one core does about this many vector operations.
PARALLEL_FROM = 512

# A sum may be taken in any order and a product fused into it, as in every library of kernels. Without this permission
# LLVM adds the terms of a scalar reduction one by one. Infinities and NaNs keep their meaning.
RELAXED_SUMS = {"fast-math-contract": True, "fast-math-reassoc": True, "fast-math-nsz": True}


@dataclass(frozen=True, slots=True)
class Processor:
    """What the scheduling rules know about a processor.

    Attributes:
        lanes: fp32 values in a vector register.
        registers: number of vector registers.
        threads: one per core.
    """

    lanes: int
    registers: int
    threads: int = 1

    def lanes_dividing(self, extent: int) -> int:
        """Return the lanes of the widest vector, at most a register, that divides an axis."""
        return next(self.lanes >> n for n in range(self.lanes) if extent % (self.lanes >> n) == 0)

    def is_worth_waking_threads(self, operations: int) -> bool:
        """Return whether several threads finish this many fp32 operations sooner than one."""
        return self.threads > 1 and operations >= PARALLEL_FROM * self.lanes


VECTORS: dict[str, tuple[int, int]] = {
    "avx512f": (512 // FLOAT_BITS, 32),
    "avx2": (256 // FLOAT_BITS, 16),
    "neon": (128 // FLOAT_BITS, 32),
}
"""Lanes and registers by processor feature, widest first."""

SSE = (128 // FLOAT_BITS, 16)


def refuse_device(target: Target) -> None:
    """Raise `Unsupported` where this build of TVM has no runtime for the target's kind of device, with the reason."""
    import tvm

    if target.kind == "cpu" or tvm.get_global_func(f"device_api.{target.kind}", allow_missing=True):
        return
    library = Path(tvm.__file__).parent / "lib" / f"libtvm_runtime_{target.kind}.so"
    without = f"this build has no {library.name}; build TVM with USE_{target.kind.upper()}=ON"
    reason = _cannot_load(library) if library.exists() else without
    raise Unsupported(f"TVM {tvm.__version__} cannot use {target.kind} devices here: {reason}")


def _cannot_load(library: Path) -> str:
    """Return why the dynamic loader refuses a library. TVM itself does without it, and does not say so."""
    import ctypes

    try:
        ctypes.CDLL(str(library))
    except OSError as error:
        return str(error)
    return f"{library.name} can be loaded, but registers no device"


def tvm_target(target: Target) -> Any:
    """Return TVM's target for this machine: all its processor's instructions, or its GPU as the driver describes it."""
    import tvm
    from tvm.target import codegen

    host = {"kind": "llvm", "mtriple": codegen.llvm_get_system_triple(), "mcpu": codegen.llvm_get_system_cpu()}
    if target.kind == "cuda":
        return tvm.target.Target(tvm.target.Target.from_device(tvm.cuda(0)), host=tvm.target.Target(host))
    return tvm.target.Target(host | {"num-cores": target.threads} | RELAXED_SUMS)


def processor(tvm_target: Any) -> Processor:
    """Return the processor of a CPU target, by its features.

    TVM's `llvm_get_vector_width` is not used, because it returns 512 for processors without AVX-512.
    """
    from tvm.target import codegen

    threads = int(tvm_target.attrs.get("num-cores", 1))
    found = (size for feature, size in VECTORS.items() if codegen.target_has_features(feature, tvm_target))
    lanes, registers = next(found, SSE)
    return Processor(lanes, registers, threads)
