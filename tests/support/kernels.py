"""Kernels built by TVM, and what they compute."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from pytest_ngraph.compilers.tvm import cpu
from pytest_ngraph.compilers.tvm.target import Processor

Array = npt.NDArray[np.float32]

AVX512 = Processor(lanes=16, registers=32, threads=2)
AVX2 = Processor(lanes=8, registers=16, threads=2)
NEON = Processor(lanes=4, registers=32, threads=2)
PROCESSORS = pytest.mark.parametrize("processor", [AVX512, AVX2, NEON], ids=["avx512", "avx2", "neon"])


def random(*shape: int) -> Array:
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def kernel(expression: Callable[..., Any], *inputs: Array) -> Any:
    """Return the TVM function of a tensor expression on inputs of these shapes."""
    from tvm import te

    placeholders = [te.placeholder(array.shape, name=f"input{i}") for i, array in enumerate(inputs)]
    return te.create_prim_func([*placeholders, expression(*placeholders)])


def run(function: Any, inputs: list[Array], target: Any) -> Array:
    """Run a kernel and return its output."""
    import tvm

    executable = tvm.compile(tvm.IRModule({"main": function.with_attr("global_symbol", "main")}), target)
    output = tvm.runtime.empty([int(n) for n in function.params[-1].ty.shape])
    executable["main"](*(tvm.runtime.tensor(array) for array in inputs), output)
    result: Array = output.numpy()
    return result


def check_rule(
    function: Any, inputs: list[Array], expected: npt.NDArray[Any], processor: Processor, target: Any
) -> str:
    """Check that a rule schedules the kernel and that it computes what is expected. Return the schedule as text."""
    scheduled = cpu.schedule_kernel(function, processor).mod["main"]
    np.testing.assert_allclose(run(scheduled, inputs, target), expected, rtol=1e-4, atol=1e-4)
    text: str = scheduled.script()
    return text
