"""`serve.py` with a made-up runtime: what its check finds, and that it is plain code."""

from __future__ import annotations

import ast
import hashlib
import subprocess
import sys
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import served

from pytest_ngraph.artifact import save_arrays
from pytest_ngraph.case import Case
from pytest_ngraph.compilers.serving import Serving
from pytest_ngraph.serving.script import SUMS, script, throughput_in
from pytest_ngraph.workloads.comparing import MASK

CASE = Case(workload="net", compiler="mine", batch_size=4)
CODE = """
def load():
    return float((HERE / "factor.txt").read_text())


def answer(model, inputs):
    return [{}]
"""
DOUBLED = "model * inputs[0]"
ONE_SCREEN = 110
"""Lines of the longest script."""


def written(
    folder: Path, expression: str = DOUBLED, streams: int = 1, reference: object = None, mask: float = MASK
) -> Path:
    """Write a folder whose model doubles its input, unless the expression says otherwise."""
    x = np.linspace(-1, 1, 8, dtype=np.float32)
    serving = Serving(
        libraries=(), imports=("import threading",), code=CODE.format(expression), files={}, streams=streams
    )
    (folder / "factor.txt").write_text("2")
    (folder / "serve.py").write_text(script(CASE, serving, [x], 2, 1e-4, mask))
    save_arrays(folder / "inputs.npz", [x])
    save_arrays(folder / "reference.npz", [2 * x if reference is None else np.asarray(reference)])
    sums = [f"{hashlib.sha256(p.read_bytes()).hexdigest()}  {p.name}\n" for p in folder.iterdir()]
    (folder / SUMS).write_text("".join(sums))
    return folder


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-I", "-c", served.AS_SCRIPT, served.OWN, str(folder / "serve.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd="/")


@pytest.mark.parametrize("streams", [1, 2])
def test_the_check_verifies_and_prints_the_throughput(tmp_path: Path, streams: int) -> None:
    done = run(written(tmp_path, streams=streams), "--check")
    assert done.stdout.splitlines()[0] == "outputs agree with the reference: largest difference 0.0e+00"
    assert " samples/s, the median of " in done.stdout
    assert done.stdout.endswith(" rounds\nfloat32 (8,)\n")
    assert done.returncode == 0


@pytest.mark.parametrize(
    ("expression", "reference", "problem"),
    [
        ("1.01 * model * inputs[0]", None, "differ from the reference by 1.0e-02; at most 0.0001 is allowed"),
        ("model * inputs[0][:4]", None, "differ from the reference by inf"),
        ("inputs[0] / 0 * 0", None, "differ from the reference by inf"),
        ("np.array([np.nan, 1])", np.array([-np.inf, 1]), "differ from the reference by inf"),
        ("np.array([np.inf, 1])", np.array([-np.inf, 1]), "differ from the reference by inf"),
        ("model * inputs[0], inputs[0]", None, "2 outputs, expected 1"),
        ("np.array([50000])", np.array([50001]), "differ from the reference by inf"),
    ],
    ids=["value", "shape", "nan", "nan for a mask", "other mask", "number", "integer"],
)
def test_wrong_outputs_fail_the_check(tmp_path: Path, expression: str, reference: object, problem: str) -> None:
    done = run(written(tmp_path, expression, reference=reference), "--check")
    assert done.returncode == 1
    assert problem in done.stderr.splitlines()[-1]


def test_a_mask_hides_no_error(tmp_path: Path) -> None:
    reference = np.array([-1e9, 3, -1e9])
    folder = written(tmp_path, "np.array([-1e9 - 64, 2.9, -1e9])", reference=reference, mask=5e8)
    assert "differ from the reference by 3.3e-02" in run(folder, "--check").stderr


@pytest.mark.parametrize(
    ("expression", "reference"),
    [
        ("np.array([np.nan, np.inf, -3e38, 1.0], np.float32)", np.array([np.nan, np.inf, -np.inf, 1], np.float32)),
        ("np.array([1 + 1j])", np.array([1 + 1j])),
        ("np.array([True])", np.array([True])),
        ("np.zeros((0, 3))", np.zeros((0, 3))),
    ],
    ids=["masks", "complex", "Boolean", "empty"],
)
def test_outputs_of_other_kinds_agree(tmp_path: Path, expression: str, reference: object) -> None:
    done = run(written(tmp_path, expression, reference=reference), "--check")
    assert done.returncode == 0, done.stderr


def test_halves_are_compared_without_a_warning() -> None:
    names: dict[str, Any] = {"__file__": __file__, "__name__": "serve"}
    exec(script(CASE, Serving(libraries=(), imports=(), code=CODE, files={}), [], 2, 1e-4), names)  # noqa: S102
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for values in ([1, -np.inf], 2):
            assert names["difference"](np.array(values, np.float16), np.array(values, np.float32)) == 0


@pytest.mark.parametrize("given", ["[]", "[x, x]", "[x.astype(int)]", "[x[:4]]"])
def test_inputs_that_the_runtime_would_take_are_refused_where_it_says_so(given: str) -> None:
    code = CODE.format(DOUBLED).replace("return [", "require(inputs)\n    return [")
    x = np.zeros(8, np.float32)
    serving = Serving(libraries=(), imports=(), code=code, files={}, takes_any=True)
    names: dict[str, Any] = {"__file__": __file__, "__name__": "serve"}
    exec(script(CASE, serving, [x], 2, 1e-4), names)  # noqa: S102
    assert len(names["answer"](2.0, [x])) == 1
    with pytest.raises(ValueError, match=r"the model takes \[\('float32', \(8,\)\)\], not \["):
        names["answer"](2.0, eval(given, {"x": x}))  # noqa: S307
    assert "require" not in script(CASE, replace(serving, takes_any=False, code=CODE), [x], 2, 1e-4)


def test_the_throughput_of_a_check_is_read() -> None:
    printed = "outputs agree with the reference: largest difference 0.0e+00\n1234.5 samples/s, the median of 9 rounds\n"
    assert throughput_in(printed) == 1234.5


def test_a_damaged_file_fails_the_check(tmp_path: Path) -> None:
    (written(tmp_path) / "factor.txt").write_text("2.00000001")
    done = run(tmp_path, "--check")
    assert (done.returncode, done.stderr) == (1, f"factor.txt is damaged: its SHA-256 is not the one in {SUMS}\n")


def test_the_check_of_a_large_file_needs_little_memory(tmp_path: Path) -> None:
    """The weights may be most of what a board's memory holds, and the model is loaded next."""
    with (written(tmp_path) / "weights.bin").open("wb") as file:
        file.truncate(64 * 2**20)
    (tmp_path / "none.bin").touch()
    sums = f"{hashlib.sha256(bytes(64 * 2**20)).hexdigest()}  weights.bin\n{hashlib.sha256().hexdigest()}  none.bin\n"
    with (tmp_path / SUMS).open("a") as file_of_sums:
        file_of_sums.write(sums)
    measured = "import runpy, sys, tracemalloc; tracemalloc.start(); sys.argv = ['serve.py', '--check']; "
    measured += "runpy.run_path({!r}, run_name='__main__'); print(tracemalloc.get_traced_memory()[1])"
    command = [sys.executable, "-c", measured.format(str(tmp_path / "serve.py"))]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd="/")
    assert int(done.stdout.splitlines()[-1]) < 32 * 2**20


def test_without_options_it_answers_and_other_options_show_the_usage(tmp_path: Path) -> None:
    assert run(written(tmp_path)).stdout == "float32 (8,)\n"
    done = run(tmp_path, "--chek")
    assert done.returncode == 1
    assert "python serve.py --check" in done.stderr


def test_a_name_with_quotes_stays_in_the_docstring() -> None:
    case = Case(workload='a"""\nraise SystemExit\n"""\\.onnx', compiler="mine", batch_size=1)
    text = script(case, Serving(libraries=(), imports=(), code=CODE, files={}), [], 2, 1e-4)
    assert not any(isinstance(node, ast.Raise) for node in ast.walk(ast.parse(text)))


@pytest.mark.parametrize("streams", [1, 2])
def test_it_is_plain_code_with_its_imports_and_threads_at_the_top(streams: int) -> None:
    imports = ("import onnxruntime", "import os", "from a import b")
    text = script(CASE, Serving(libraries=(), imports=imports, code=CODE, files={}, streams=streams), [], 2, 1e-4)
    body = ast.parse(text).body
    names = [node.names[0].name for node in body if isinstance(node, ast.Import)]
    assert names == [*sorted(names[:-2]), "numpy", "onnxruntime"]
    first = next(node for node in body if isinstance(node, ast.Assign))
    assert ast.unparse(first) == "THREADS = 2"
    assert {"load", "answer", "samples", "main"} <= {node.name for node in body if isinstance(node, ast.FunctionDef)}
    assert text.count("\n") <= ONE_SCREEN
    assert "pytest" not in text


def test_threads_answer_in_turn_unless_the_runtime_takes_several_calls() -> None:
    serving = Serving(libraries=(), imports=(), code=CODE.format(DOUBLED), files={})
    assert "with LOCK" in script(CASE, serving, [], 2, 1e-4)
    assert "LOCK" not in script(CASE, replace(serving, concurrent=True), [], 2, 1e-4)
    assert "LOCK" not in script(CASE, replace(serving, streams=2), [], 2, 1e-4)
