"""A plain loop over a network in eager PyTorch that times each iteration."""

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
    """Build the network.

    Args:
        case: the case to build.
        threads: threads of PyTorch.
        iterations: fewest iterations of the loop.
        seconds: shortest duration of the loop.
        warmup_s: shortest duration of the untimed loop before it.
    """
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
