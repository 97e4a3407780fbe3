"""OpenVINO's counters: averages over all calls so far, of a request that reads the user's memory."""

from __future__ import annotations

import gc
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from compiled import CPU, Export

from pytest_ngraph import compilers
from pytest_ngraph.case import Case
from pytest_ngraph.compilers import profiling
from pytest_ngraph.compilers.profiling.openvino import ProfiledRequest


class Averaging:
    """A request whose calls take so many microseconds, one after the other; it reports averages, as OpenVINO does."""

    def __init__(self, *microseconds: int) -> None:
        self._next = iter(microseconds)
        self._spent: list[int] = []

    def infer(self, *, share_outputs: bool) -> None:
        del share_outputs
        self._spent.append(next(self._next))

    @property
    def profiling_info(self) -> list[Any]:
        average = timedelta(microseconds=sum(self._spent) // len(self._spent))
        status = SimpleNamespace(name="EXECUTED")
        return [SimpleNamespace(node_name="a", node_type="Op", exec_type="jit", status=status, real_time=average)]


def test_a_slow_first_call_counts_for_no_block() -> None:
    runtime = SimpleNamespace(get_ordered_ops=list)
    request = ProfiledRequest(Averaging(9000, 100, 100, 100, 300, 300), (), runtime, {}, ())
    assert [kernel.seconds for _ in range(2) for kernel in request.profile(2)] == pytest.approx([1e-4, 2e-4], abs=4e-6)
    assert request.profile(1)[0].seconds == pytest.approx(3e-4, abs=6e-6)


def test_a_profile_is_of_the_inputs_of_the_case(exported: Export, tmp_path: Path) -> None:
    pytest.importorskip("openvino")
    case = Case(workload="conv", compiler="openvino", batch_size=4, depth=1, width=16)
    artifact, compiler = exported(case), compilers.resolve("openvino")
    compiler.compile(artifact, CPU, tmp_path)
    model: Any = profiling.instrument("openvino", compiler, artifact, CPU, tmp_path)
    with closing(model):
        gc.collect()
        others = [torch.full(array.shape, 7.0) for array in artifact.inputs() for _ in range(20)]
        model.profile(1)
        read = model._request.get_input_tensor(0).data
        np.testing.assert_array_equal(read, artifact.inputs()[0])
        assert others
