"""Inputs that say how long sequences are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_ngraph.case import Case
from pytest_ngraph.workloads.drawing import Fixed, Role, Values
from pytest_ngraph.workloads.onnx.file import OnnxFile
from pytest_ngraph.workloads.onnx.lengths import UNKNOWN, lengths

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

import onnx_models as models  # noqa: E402
from onnx import helper  # noqa: E402


def recurrent(operator: str, gates: int) -> Any:
    """Return a model of one recurrent layer over `x` (batch, time, 4), whose lengths are `steps`."""
    nodes = [
        helper.make_node("Transpose", ["x"], ["by_time"], perm=[1, 0, 2]),
        helper.make_node("Cast", ["steps"], ["narrow"], to=models.INT32),
        helper.make_node(operator, ["by_time", "w", "r", "", "narrow"], ["y"], hidden_size=8),
    ]
    inputs = [models.value("x", ["batch", "time", 4]), models.value("steps", ["batch"], models.INT64)]
    w, r = models.weights(1, gates * 8, 4), models.weights(1, gates * 8, 8)
    return models.model(nodes, inputs, [models.value("y", None)], w=w, r=r)


def drawn(model: Any, **sizes: int) -> tuple[dict[str, str], dict[str, Any]]:
    """Return what the record says of the inputs at batch size 2, and the inputs."""
    onnx.save(model, "net.onnx")
    Path("exported").mkdir()
    case = Case(workload="net.onnx", compiler="identity", batch_size=2, sizes=tuple(sizes.items()))
    artifact = OnnxFile().export(case, Path("exported"))
    names = [value.name for value in model.graph.input]
    return artifact.drawn, dict(zip(names, artifact.inputs(), strict=True))


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(("operator", "gates"), [("LSTM", 4), ("GRU", 3), ("RNN", 1)])
def test_lengths_of_a_recurrent_layer_are_those_of_its_sequences(operator: str, gates: int) -> None:
    said, inputs = drawn(recurrent(operator, gates), time=9)
    assert inputs["steps"].tolist() == [9, 9]
    assert said["steps"] == f"9 (the length of {operator}'s sequences)"


def _named(length: str, shape: models.Axes = ("batch",), **others: models.Axes) -> Any:
    """Return a model that takes a length and others, and computes with each by itself."""
    model = models.sums(**others)
    model.graph.input.append(models.value(length, shape, models.INT64))
    model.graph.node.append(helper.make_node("Neg", [length], ["negative"]))
    model.graph.output.append(models.value("negative", shape, models.INT64))
    return model


def test_a_length_by_its_name_is_that_of_the_axis_that_is_open() -> None:
    said, inputs = drawn(_named("length", audio_signal=["batch", 80, "time"]), time=50)
    assert inputs["length"].tolist() == [50, 50]
    assert said["length"] == "50 (the length of audio_signal, its axis 2)"


@pytest.mark.parametrize(
    ("length", "others"),
    [
        ("input_lengths", {"input": ["batch", "phonemes"], "scales": [3]}),
        ("x_lens", {"x": ["batch", "phonemes"], "speaker": ["batch", 5]}),
        ("target_length", {"targets": ["batch", "phonemes"], "audio": ["batch", 5, "frames"]}),
        ("seq_len", {"ids": ["batch", "phonemes"], "types": ["batch", "phonemes"]}),
    ],
)
def test_a_length_belongs_to_the_input_of_its_name(length: str, others: dict[str, models.Axes]) -> None:
    sizes = {"phonemes": 7, "frames": 11} if "audio" in others else {"phonemes": 7}
    _, inputs = drawn(_named(length, **others), **sizes)
    assert inputs[length].tolist() == [7, 7]


def _role(name: str, shape: models.Axes = (2,), **others: tuple[int, ...]) -> Role | None:
    """Return the role of an input of a file that leaves nothing open."""
    return lengths(_named(name, shape, **others)).get(name)


def test_where_nothing_is_open_the_only_other_axis_is_the_sequence() -> None:
    assert _role("x_lengths", x=(2, 30)) == Fixed(30, "the length of x, its axis 1")
    assert _role("x_lengths", (), x=(2, 30)) == Fixed(30, "the length of x, its axis 1")


def test_what_cannot_be_known_is_said() -> None:
    assert _role("x_lengths", x=(2, 80, 30)) == UNKNOWN
    assert _role("lengths", audio=(2, 30), text=(2, 7)) == UNKNOWN
    assert _role("cache_len", cache=(2, 17, 70), audio=(2, 30)) == UNKNOWN
    assert str(UNKNOWN) == "0 or 1 (a length, of which input is not known)"


def test_other_numbers_are_no_lengths() -> None:
    for name in ("max_length", "past_sequence_length", "hop_length", "strength_of", "silence", "golden"):
        assert _role(name, x=(2, 30)) is None
    assert isinstance(_role("x_lengths", (5,), x=(2, 30)), Values)
