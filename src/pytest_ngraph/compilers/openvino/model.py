"""A model that OpenVINO compiled: one request for latency, a queue of them for throughput, and their tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pytest_ngraph.artifact import Array, Artifact, Target
from pytest_ngraph.clock import WallStopwatch
from pytest_ngraph.compilers import streams
from pytest_ngraph.workloads.tensors import flatten

if TYPE_CHECKING:
    import torch


class OpenVinoModel:
    """One request at a time: for latency."""

    concurrency = 1

    def __init__(
        self, compiled: Any, inputs: tuple[torch.Tensor, ...], artifact: Artifact, target: Target, facts: dict[str, str]
    ) -> None:
        self._request = compiled.create_infer_request()
        self._inputs = inputs  # kept: the request reads their memory
        self._request.set_input_tensors(dict(enumerate(map(share, inputs))))
        self.facts = facts
        self.stopwatch = WallStopwatch()

    def __call__(self) -> object:
        return self._request.infer(share_outputs=True)

    def outputs(self) -> Sequence[Array]:
        self()
        return _read_outputs(self._request)

    def close(self) -> None:
        del self._request, self._inputs


class OpenVinoQueue:
    """As many requests at a time as the compiled model asks for: for throughput.

    A call starts each request once and returns when the last one has started; the stopwatch waits for all. Consecutive
    calls therefore keep every stream busy, as OpenVINO's own `benchmark_app` does.
    """

    def __init__(
        self, compiled: Any, inputs: tuple[torch.Tensor, ...], artifact: Artifact, target: Target, facts: dict[str, str]
    ) -> None:
        import openvino

        self._queue = openvino.AsyncInferQueue(compiled)
        self._inputs = inputs
        for request in self._queue:
            request.set_input_tensors(dict(enumerate(map(share, inputs))))
        self._artifact, self._precision = artifact, target.precision
        self.concurrency = len(self._queue)
        self.facts = facts | {"requests": str(self.concurrency)}
        self.stopwatch = streams.DrainingStopwatch(self._queue.wait_all)

    def __call__(self) -> object:
        for _ in range(self.concurrency):
            self._queue.start_async()
        return None

    def outputs(self) -> Sequence[Array]:
        self._queue.wait_all()  # so that the next call starts each request once
        self()
        self._queue.wait_all()
        of_requests = [_read_outputs(request) for request in self._queue]
        return streams.common_outputs(of_requests, self._artifact, self._precision)

    def close(self) -> None:
        self._queue.wait_all()
        del self._queue, self._inputs, self.stopwatch


def share(tensor: torch.Tensor) -> Any:
    """Return an OpenVINO tensor over the same memory."""
    import openvino
    import torch

    if tensor.dtype == torch.bfloat16:  # NumPy has no bf16
        return openvino.Tensor(tensor.view(torch.int16).numpy(), tensor.shape, openvino.Type.bf16)
    return openvino.Tensor(tensor.numpy(), shared_memory=True)


def _read_outputs(request: Any) -> list[Array]:
    """Return copies of a finished request's outputs, because the next run overwrites their memory."""
    return flatten([_to_torch(tensor).clone() for tensor in request.output_tensors])


def _to_torch(tensor: Any) -> torch.Tensor:
    import numpy as np
    import torch

    if tensor.element_type.get_type_name() == "bf16":
        return torch.from_numpy(tensor.data.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(tensor.data)
