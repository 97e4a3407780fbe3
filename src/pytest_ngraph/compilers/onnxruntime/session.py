"""A session of ONNX Runtime that runs on tensors in place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pytest_ngraph.artifact import Array, Target
from pytest_ngraph.clock import Stopwatch, WallStopwatch
from pytest_ngraph.compilers import cuda
from pytest_ngraph.compilers.onnx_export import ELEMENT_TYPES, element_type
from pytest_ngraph.workloads.tensors import to_array

if TYPE_CHECKING:
    import torch


class OnnxSessionModel:
    """A session whose inputs and outputs stay bound to memory of the device."""

    concurrency = 1

    def __init__(self, session: Any, inputs: tuple[torch.Tensor, ...], target: Target, facts: dict[str, str]) -> None:
        import onnxruntime as ort

        self._run_options = None  # none at all: on a CPU, even default options cost 26 microseconds a call
        self.stopwatch: Stopwatch = WallStopwatch()
        if target.kind == "cuda":
            self._run_options = ort.RunOptions()
            self._run_options.add_run_config_entry("disable_synchronize_execution_providers", "1")
            self.stopwatch = cuda.CudaStopwatch(cuda.own_stream())
        self._session = session
        self._inputs = inputs  # kept: the binding reads their memory
        self._binding = self._with_inputs()
        self._names = [value.name for value in session.get_outputs()]
        self._outputs = self._bind_outputs(target)
        self.facts = facts

    def __call__(self) -> object:
        return self._session.run_with_iobinding(self._binding, self._run_options)

    def outputs(self) -> Sequence[Array]:
        self()
        values = dict(zip(self._outputs, self._binding.get_outputs(), strict=True))
        arrays = {
            name: values[name].numpy().copy() if tensor is None else to_array(tensor.clone())
            for name, tensor in self._outputs.items()
        }
        return [arrays[name] for name in self._names]

    def close(self) -> None:
        del self._binding, self._session, self._inputs, self._outputs

    def _with_inputs(self) -> Any:
        """Return a binding of the inputs."""
        binding = self._session.io_binding()
        for value, tensor in zip(self._session.get_inputs(), self._inputs, strict=True):
            binding.bind_input(value.name, *_location(tensor))
        return binding

    def _bind_outputs(self, target: Target) -> dict[str, torch.Tensor | None]:
        """Run once to learn the outputs' shapes, then bind memory for them, so that no run allocates any.

        Returns:
            The bound tensors by name; None for outputs that cannot be bound: those without values, those of types that
            PyTorch lacks, and inputs that are passed on.
        """
        import torch

        passed_on = {value.name for value in self._session.get_inputs()}
        names = list(dict.fromkeys(self._names))
        for name in names:
            self._binding.bind_output(name, target.kind)
        self()
        values = dict(zip(names, self._binding.get_outputs(), strict=True))
        self._binding = self._with_inputs()  # ONNX Runtime 1.23 mixes up outputs that are cleared and bound again
        outputs: dict[str, torch.Tensor | None] = {}
        for name, value in values.items():
            shape, dtype = tuple(value.shape()), _dtype(value.element_type())
            if dtype is None or 0 in shape or name in passed_on:
                outputs[name] = None
                self._binding.bind_output(name, target.kind)
            else:
                outputs[name] = tensor = torch.empty(shape, dtype=dtype, device=target.kind)
                self._binding.bind_output(name, *_location(tensor))
        return outputs


def _location(tensor: torch.Tensor) -> tuple[str, int, int, tuple[int, ...], int]:
    """Return device, device index, element type, shape and address, as a binding takes them."""
    device = tensor.device
    return device.type, device.index or 0, element_type(tensor.dtype), tuple(tensor.shape), tensor.data_ptr()


def _dtype(element_type: int) -> torch.dtype | None:
    """Return PyTorch's type; None where it has none."""
    import torch

    names = {number: name for name, number in ELEMENT_TYPES.items()}
    return getattr(torch, names[element_type]) if element_type in names else None
