"""TVM's `time_evaluator` on a library compiled like ours, in TVM's own virtual machine."""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import tvm
from serving import Measure, serve

from pytest_ngraph.artifact import Artifact, Target
from pytest_ngraph.compilers import program
from pytest_ngraph.compilers.tvm import LIBRARY, Tvm
from pytest_ngraph.compilers.tvm.runtime import align, size_thread_pool


def prepare(artifact: dict[str, Any], target: dict[str, Any], seconds: float) -> Measure:
    """Compile the library and measure once without using the result. `seconds`: duration of a measurement."""
    given, on = Artifact.from_dict(artifact), Target.from_dict(target)
    with tempfile.TemporaryDirectory() as folder:
        Tvm().compile(given, on, Path(folder))
        library = tvm.runtime.load_module(str(Path(folder) / LIBRARY))
    size_thread_pool(on)
    machine = tvm.relax.VirtualMachine(library, tvm.cpu())
    inputs = [tvm.runtime.from_dlpack(align(tensor)) for tensor in program.inputs(given)]

    def times(repeat: int) -> list[float]:
        return list(machine.time_evaluator("main", tvm.cpu(), number=1, repeat=repeat)(*inputs).results)

    def measure() -> dict[str, float]:
        begin = time.perf_counter()
        found = times(max(1, round(seconds / statistics.median(times(3)))))
        return {"seconds": statistics.median(found), "measured_s": time.perf_counter() - begin}

    measure()
    return measure


if __name__ == "__main__":
    serve(prepare)
