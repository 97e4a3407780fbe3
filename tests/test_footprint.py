from __future__ import annotations

import sys

import numpy as np
import pytest

from pytest_ngraph.worker.memory import Footprint

BYTES = 128 * 2**20


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets a process start its peak anew")
def test_what_an_earlier_case_needed_does_not_count() -> None:
    footprint = Footprint()
    footprint.begin("cpu")
    large = np.ones(BYTES, dtype=np.uint8)
    before = footprint.peaks("cpu")["peak_memory_bytes"]
    del large
    footprint.begin("cpu")
    after = footprint.peaks("cpu")["peak_memory_bytes"]
    assert before is not None
    assert after is not None
    assert before - after > BYTES // 2


def test_a_cpu_has_no_memory_of_a_gpu() -> None:
    footprint = Footprint()
    footprint.begin("cpu")
    footprint.look("cpu")
    assert footprint.peaks("cpu")["device_memory_bytes"] is None
