"""A plain loop on a session of ONNX Runtime."""

from __future__ import annotations

import statistics
import time

import numpy as np
import onnxruntime
from serving import Measure, serve


def prepare(model: str, inputs: str, threads: int, seconds: float) -> Measure:
    """Create the session and measure once without using the result.

    Args:
        model: an ONNX file.
        inputs: its inputs in order, as npz.
        threads: threads of the session.
        seconds: duration of a measurement.
    """
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    with np.load(inputs) as arrays:
        names = sorted(arrays.files)
        feed = {given.name: arrays[name] for given, name in zip(session.get_inputs(), names, strict=True)}

    def measure() -> dict[str, float]:
        times: list[float] = []
        begin = time.perf_counter()
        while time.perf_counter() < begin + seconds:
            start = time.perf_counter()
            session.run(None, feed)
            times.append(time.perf_counter() - start)
        return {"seconds": statistics.median(times), "measured_s": time.perf_counter() - begin}

    measure()
    return measure


if __name__ == "__main__":
    serve(prepare)
