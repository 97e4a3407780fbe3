"""A plain loop over a network in eager PyTorch, each iteration timed."""

from __future__ import annotations

import statistics
import time
from typing import Any

import torch
from serving import Measure, serve

from pytest_ngraph.case import Case
from pytest_ngraph.workloads import build


def prepare(
    case: dict[str, Any], threads: int, iterations: int = 0, seconds: float = 0.0, warmup_s: float = 0.0
) -> Measure:
    """iterations, seconds: of the loop, at the least."""
    torch.set_num_threads(threads)
    built = build(Case.from_dict(case))

    def timed(fewest: int, shortest_s: float) -> list[float]:
        times: list[float] = []
        end = time.perf_counter() + shortest_s
        while len(times) < fewest or time.perf_counter() < end:
            begin = time.perf_counter()
            built.module(*built.inputs)
            times.append(time.perf_counter() - begin)
        return times

    def measure() -> dict[str, float]:
        begin = time.perf_counter()
        with torch.inference_mode():
            timed(0, warmup_s)
            times = timed(iterations, seconds)
        return {"seconds": statistics.median(times), "measured_s": time.perf_counter() - begin}

    return measure


if __name__ == "__main__":
    serve(prepare)
