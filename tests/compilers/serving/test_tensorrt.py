"""The code that serves a plan, with a plan that copies an input in memory to an output, and PyTorch on the CPU."""

from __future__ import annotations

import ctypes
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import pytest
import served
import torch

from pytest_ngraph.compilers.serving.tensorrt import deploy

X, Y = (np.arange(6, dtype=np.float32).reshape(2, 3) + start for start in (0, 10))


class Copying:
    """A plan whose output is its second input: the bytes at the address that it got last.

    Attributes:
        refuses: name of the method that returns False.
    """

    def __init__(self, refuses: str = "") -> None:
        self.refuses = refuses
        self._addresses: dict[str, int] = {}

    def create_execution_context(self) -> Copying:
        return self

    def get_tensor_dtype(self, name: str) -> SimpleNamespace:
        return SimpleNamespace(name="FLOAT")

    def get_tensor_shape(self, name: str) -> tuple[int, ...]:
        return X.shape

    def set_input_shape(self, name: str, shape: tuple[int, ...]) -> bool:
        return self.refuses != "set_input_shape"

    def set_tensor_address(self, name: str, address: int) -> bool:
        self._addresses[name] = address
        return self.refuses != "set_tensor_address"

    def execute_async_v3(self, stream: object) -> bool:
        ctypes.memmove(self._addresses["out"], self._addresses["y"], X.nbytes)
        return True


@pytest.fixture
def answering(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that loads the plan, and returns `answer` of it."""
    monkeypatch.setattr(torch.cuda, "current_stream", lambda: SimpleNamespace(cuda_stream=0, synchronize=lambda: None))
    (file := tmp_path / "model.plan").touch()
    (folder := tmp_path / "served").mkdir()
    serving = deploy("tensorrt", file, folder, inputs=["x", "y"], outputs=["out"], types={"FLOAT": "float32"})
    on_cpu = replace(serving, code=serving.code.replace('"cuda"', '"cpu"'))

    def loaded(plan: Copying) -> Any:
        library = MagicMock()
        library.Runtime.return_value.deserialize_cuda_engine.return_value = plan
        module = served.imported(folder, on_cpu, [X, Y], tensorrt=library)
        model = module.load()
        return lambda inputs: module.answer(model, inputs)

    return loaded


def test_a_transposed_array_is_answered_as_any_other(answering: Any) -> None:
    answer = answering(Copying())
    (out,) = answer([X, np.asfortranarray(Y)])
    assert np.array_equal(out, Y)


@pytest.mark.parametrize(
    "inputs",
    [[X], [X, Y, Y], [X, np.concatenate([Y, Y])], [X, Y.astype(np.int64)]],
    ids=["one fewer", "one more", "another batch size", "another type"],
)
def test_other_inputs_are_an_error_and_not_the_answer_to_an_earlier_call(answering: Any, inputs: list[Any]) -> None:
    answer = answering(Copying())
    answer([X, Y])
    with pytest.raises(ValueError, match=r"^the model takes "):
        answer(inputs)


@pytest.mark.parametrize("step", ["set_input_shape", "set_tensor_address"])
def test_what_the_runtime_refuses_is_an_error(answering: Any, step: str) -> None:
    with pytest.raises(RuntimeError, match=r"^TensorRT does not take "):
        answering(Copying(refuses=step))([X, Y])
