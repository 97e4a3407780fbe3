"""optimum-benchmark on a timm model in eager PyTorch. As in its examples, its launcher starts the process."""

from __future__ import annotations

import os
import sys
from typing import Any

from serving import Measure, serve


def prepare(case: dict[str, Any], threads: int, seconds: int) -> Measure:
    """Configure the benchmark.

    Args:
        case: the model and batch size.
        threads: threads of PyTorch.
        seconds: shortest duration of the tracked iterations; ten untracked ones warm up.
    """
    allowed = os.sched_getaffinity(0) if sys.platform == "linux" else set()

    from optimum_benchmark import Benchmark, BenchmarkConfig, InferenceConfig, ProcessConfig, PyTorchConfig

    if sys.platform == "linux":  # importing PyTorch may bind this thread to one core, and child processes inherit that
        os.sched_setaffinity(0, allowed)
    config = BenchmarkConfig(
        name=case["workload"],
        launcher=ProcessConfig(),
        backend=PyTorchConfig(
            model=case["workload"],
            library="timm",
            task="image-classification",
            model_type="timm",
            device="cpu",
            inter_op_num_threads=threads,  # it passes this to `torch.set_num_threads`
        ),
        scenario=InferenceConfig(
            latency=True, memory=False, duration=seconds, iterations=1, input_shapes={"batch_size": case["batch_size"]}
        ),
        log_report=False,
    )

    def measure() -> dict[str, float]:
        latency = Benchmark.launch(config).forward.latency
        return {"seconds": float(latency.p50), "measured_s": float(latency.total)}

    return measure


if __name__ == "__main__":
    serve(prepare)
