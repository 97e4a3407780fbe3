"""Run a plan on the GPU: the engine, its buffers as PyTorch tensors, and the calls that are timed."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from pytest_ngraph.artifact import Array
from pytest_ngraph.clock import Stopwatch
from pytest_ngraph.compilers import cuda
from pytest_ngraph.compilers.tensorrt.library import Library
from pytest_ngraph.errors import NgraphError, Unsupported
from pytest_ngraph.workloads.tensors import flatten

if TYPE_CHECKING:
    import torch

Buffers = dict[str, "torch.Tensor"]

ELEMENT_TYPES = {
    "FLOAT": "float32",
    "HALF": "float16",
    "BF16": "bfloat16",
    "INT8": "int8",
    "INT32": "int32",
    "INT64": "int64",
    "UINT8": "uint8",
    "BOOL": "bool",
}
"""PyTorch's name of a type, by member of TensorRT's `DataType`."""


class TensorRtModel:
    """An execution context whose inputs and outputs stay at their addresses on the GPU."""

    concurrency = 1

    def __init__(
        self, lib: Library, plan: bytes, inputs: Buffers, outputs: Sequence[str], *, graph: bool, facts: dict[str, str]
    ) -> None:
        """Load the plan and place its inputs and outputs.

        Args:
            inputs: tensors on the GPU, by name.
            outputs: names in the graph's order.
            graph: replay calls as a CUDA graph.

        Raises:
            Unsupported: an output has no fixed shape, or PyTorch lacks a type.
            NgraphError: TensorRT refuses something.
        """
        self._runtime = lib.module.Runtime(lib.logger)
        self._engine = lib.require(self._runtime.deserialize_cuda_engine(plan), "load the plan")
        self._context = lib.require(self._engine.create_execution_context(), "create an execution context")
        self._inputs = inputs
        self._place_inputs(lib)
        self._outputs = self._place_outputs(lib, outputs)
        self._stream = cuda.own_stream()
        self._library = lib
        self._run: Callable[[], object] = self._enqueue
        if graph:
            self._run = _capture(self._enqueue)
        self.facts = facts
        self.stopwatch: Stopwatch = cuda.CudaStopwatch(self._stream)

    def __call__(self) -> object:
        return self._run()

    def outputs(self) -> Sequence[Array]:
        self()
        self._stream.synchronize()
        return flatten([tensor.clone() for tensor in self._outputs.values()])

    def close(self) -> None:
        self._stream.synchronize()
        del self._run  # a captured graph points into the buffers
        del self._context, self._engine, self._runtime
        del self._inputs, self._outputs

    def layers(self) -> list[dict[str, Any]]:
        """Return what the engine inspector says of each layer; of a plan that was not built in detail, nothing."""
        json_format = self._library.module.LayerInformationFormat.JSON
        described = json.loads(self._engine.create_engine_inspector().get_engine_information(json_format))
        return [layer for layer in described["Layers"] if isinstance(layer, dict)]

    def report_to(self, profiler: Any) -> None:
        """Let each call wait for its end and report the time of each layer to a `tensorrt.IProfiler`."""
        self._context.profiler = profiler

    def _enqueue(self) -> None:
        if not self._context.execute_async_v3(self._stream.cuda_stream):
            raise NgraphError(f"{self._library.name} could not run: {self._library.take_messages()}")

    def _place_inputs(self, lib: Library) -> None:
        for name, tensor in self._inputs.items():
            expected = self._dtype(name)
            if tensor.dtype != expected:
                raise NgraphError(f"the plan's input {name} takes {expected}, but the workload's is {tensor.dtype}.")
            lib.require(self._context.set_input_shape(name, tuple(tensor.shape)), f"take input {name} in its shape")
            lib.require(self._context.set_tensor_address(name, tensor.data_ptr()), f"take input {name}")

    def _place_outputs(self, lib: Library, names: Sequence[str]) -> Buffers:
        import torch

        placed = {}
        for name in names:
            shape = tuple(self._context.get_tensor_shape(name))
            if any(length < 0 for length in shape):
                raise Unsupported(
                    f"output {name} has a shape that depends on values; {lib.name} is run on fixed shapes only"
                )
            placed[name] = torch.empty(shape, dtype=self._dtype(name), device="cuda")
            lib.require(self._context.set_tensor_address(name, placed[name].data_ptr()), f"place output {name}")
        return placed

    def _dtype(self, name: str) -> torch.dtype:
        import torch

        element_type = self._engine.get_tensor_dtype(name).name
        if element_type not in ELEMENT_TYPES:
            raise Unsupported(f"{name} has TensorRT's type {element_type}, which PyTorch lacks")
        found: torch.dtype = getattr(torch, ELEMENT_TYPES[element_type])
        return found


def _capture(enqueue: Callable[[], object]) -> Callable[[], object]:
    """Record the call as a CUDA graph, after one normal call: the first call allocates, which cannot be captured."""
    import torch

    stream = cuda.own_stream()
    enqueue()
    stream.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        enqueue()
    return graph.replay
