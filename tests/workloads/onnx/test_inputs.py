"""Inputs of ONNX files that the user gives: by a function, or by an archive beside the file."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pytest_ngraph.artifact import Artifact
from pytest_ngraph.case import Case
from pytest_ngraph.errors import UsageError
from pytest_ngraph.workloads.onnx.file import OnnxFile

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

import onnx_models as models  # noqa: E402

IDS = np.arange(24).reshape(2, 12)
ENCODED = {
    "input_ids": IDS,
    "attention_mask": np.ones_like(IDS),
    "token_type_ids": np.zeros_like(IDS),
    "position_ids": IDS % 12,
}


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "data", raising=False)


def exported(batch_size: int = 2, inputs: str = "", sizes: tuple[tuple[str, int], ...] = ()) -> Artifact:
    folder = Path("exported")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    case = Case(workload="net.onnx", compiler="identity", batch_size=batch_size, sizes=sizes, inputs=inputs)
    return OnnxFile().export(case, folder)


def refusal(**given: Any) -> str:
    with pytest.raises(UsageError) as refused:
        exported(**given)
    message = str(refused.value)
    assert "\n" not in message
    return message


def test_an_archive_beside_the_file_gives_the_inputs_and_settles_open_axes() -> None:
    onnx.save(models.encoder(), "net.onnx")
    np.savez("net.npz", **ENCODED)  # type: ignore[arg-type]
    artifact = exported()
    assert np.array_equal(artifact.inputs()[0], IDS)
    assert artifact.drawn["input_ids"] == "given by net.npz"


def test_samples_are_repeated_to_the_batch_size() -> None:
    onnx.save(models.encoder(), "net.onnx")
    np.savez("net.npz", **ENCODED)  # type: ignore[arg-type]
    assert np.array_equal(exported(batch_size=3).inputs()[0], IDS[[0, 1, 0]])
    assert np.array_equal(exported(batch_size=1).inputs()[0], IDS[:1])


def test_samples_are_repeated_along_the_batch_wherever_it_is() -> None:
    onnx.save(models.sums(input=["batch", 4], state=[2, "batch", 3]), "net.onnx")
    np.savez("net.npz", input=models.weights(1, 4), state=models.weights(2, 1, 3))
    assert [array.shape for array in exported(batch_size=3).inputs()] == [(3, 4), (2, 3, 3)]


def test_a_name_that_shapes_mark_as_the_batch_is_the_batch_of_every_input() -> None:
    onnx.save(models.sums(input=[5, "parts"], state=[2, "parts", 3]), "net.onnx")
    np.savez("net.npz", input=models.weights(5, 1), state=models.weights(2, 1, 3))
    case = Case(workload="net.onnx", compiler="identity", batch_size=3, shapes=(("input", (5, "batch")),))
    Path("exported").mkdir()
    inputs = OnnxFile().export(case, Path("exported")).inputs()
    assert [array.shape for array in inputs] == [(5, 3), (2, 3, 3)]


def test_a_function_is_called_with_the_batch_size_and_the_sizes_that_it_names() -> None:
    onnx.save(models.sums(x=["batch", "length"], rate=[]), "net.onnx")
    Path("data.py").write_text(
        "import numpy as np\n"
        "def inputs(batch_size, length):\n"
        "    return {'x': np.full((batch_size, length), 7, np.float32), 'rate': np.float32(3)}\n"
    )
    x, rate = exported(inputs="data:inputs", sizes=(("length", 5),)).inputs()
    assert x.shape == (2, 5)
    assert (x == 7).all()
    assert rate == 3


@pytest.mark.parametrize(
    ("arrays", "said"),
    [
        (
            {"input_ids": IDS},
            "net.npz lacks input 'attention_mask' of net.onnx; it has input_ids. Give all: input_ids, attention_mask,",
        ),
        ({**ENCODED, "ids": IDS}, "unknown input of net.onnx in net.npz 'ids'. Known: attention_mask, input_ids"),
        ({**ENCODED, "input_ids": IDS[0]}, "input 'input_ids' has shape (12,), and net.onnx takes 2 axes"),
        (
            {**ENCODED, "input_ids": IDS.astype(np.int32)},
            "input 'input_ids' is int32, and net.onnx takes int64. Convert it: input_ids.astype('int64').",
        ),
        (
            {**ENCODED, "input_ids": IDS + 30},
            "input 'input_ids' holds 53, and the smallest table that it indexes has 50 rows (index words). Give "
            "numbers from 0 to 49.",
        ),
        ({**ENCODED, "position_ids": IDS}, "input 'position_ids' holds 23, and the smallest table"),
        ({**ENCODED, "attention_mask": IDS[:, :5]}, "input 'attention_mask' has shape (2, 5), and the case makes it"),
    ],
)
def test_what_does_not_fit_is_refused(arrays: dict[str, Any], said: str) -> None:
    onnx.save(models.encoder(), "net.onnx")
    np.savez("net.npz", **arrays)
    assert said in refusal()


def test_an_archive_that_cannot_be_read_is_refused() -> None:
    onnx.save(models.encoder(), "net.onnx")
    Path("net.npz").write_bytes(b"PK nothing")
    assert "net.npz cannot be read" in refusal()


def test_the_inputs_have_a_digest_of_their_own() -> None:
    onnx.save(models.encoder(), "net.onnx")
    np.savez("net.npz", **ENCODED)  # type: ignore[arg-type]
    first, again = exported(), exported()
    np.savez("net.npz", **ENCODED | {"attention_mask": np.zeros_like(IDS)})  # type: ignore[arg-type]
    masked = exported()
    assert (again.digest, again.inputs_digest) == (first.digest, first.inputs_digest)
    assert masked.digest == first.digest
    assert masked.inputs_digest != first.inputs_digest


def test_a_function_that_draws_at_random_gives_the_same_inputs_on_every_call() -> None:
    onnx.save(models.encoder(), "net.onnx")
    code = f"""
import random
import numpy as np

def drawn():
    ids = np.random.randint(0, 5, ({IDS.shape[0]}, {IDS.shape[1]}))
    return {{"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids),
            "position_ids": np.full_like(ids, random.randrange(10))}}
"""
    Path("data.py").write_text(code)
    assert exported(inputs="data:drawn").inputs_digest == exported(inputs="data:drawn").inputs_digest


@pytest.mark.parametrize(
    ("code", "inputs", "said"),
    [
        ("", "data:inputs", "inputs 'data:inputs' cannot be imported (AttributeError: "),
        ("", "nowhere:inputs", "inputs 'nowhere:inputs' cannot be imported (ModuleNotFoundError: "),
        ("def inputs(): return 3", "data:inputs", "inputs data:inputs returned int. Return a dict of arrays by the na"),
        ("def inputs(missing): ...", "data:inputs", "inputs data:inputs cannot be called: missing a required argument"),
        (
            "def inputs(batch_size): return {}['ids']",
            "data:inputs",
            "inputs data:inputs raises KeyError: 'ids' (data.py, line 1, in inputs). To see the traceback, run in "
            "Python: import data; data.inputs(batch_size=",
        ),
        (
            "def inputs(): return dict.fromkeys('input_ids attention_mask token_type_ids position_ids'.split(), [[1]])",
            "data:inputs",
            "input 'input_ids' is a list, and net.onnx takes an array. Convert it: numpy.array(input_ids)",
        ),
    ],
)
def test_a_function_that_cannot_give_inputs_is_refused(code: str, inputs: str, said: str) -> None:
    onnx.save(models.encoder(), "net.onnx")
    Path("data.py").write_text(code)
    assert said in refusal(inputs=inputs)
