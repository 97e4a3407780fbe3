"""Kernels of an ONNX file whose operations have no names, or names with slashes."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import onnx
import pytest
from compiled import CPU, Export, require
from onnx import helper
from onnx_models import model, value, weights

from pytest_ngraph import compilers
from pytest_ngraph.case import Case
from pytest_ngraph.compilers import profiling


@pytest.mark.parametrize("compiler", ["onnxruntime", "openvino", "tvm", "identity"])
def test_kernels_of_a_file_without_names_are_told_apart(compiler: str, exported: Export, tmp_path: Path) -> None:
    fused = ["conv1", "relu1"]
    apart = {frozenset(fused)} if compiler != "identity" else {frozenset([name]) for name in fused}
    found = kernels_of(["conv1", "relu1", "conv2", "y"], [""] * 4, compiler, exported, tmp_path)
    assert found == apart | {frozenset(["conv2"]), frozenset(["y"])}


@pytest.mark.parametrize(
    "names",
    [
        ["/a/Conv", "/a/Relu", "/b/Conv", "/Softmax"],  # PyTorch's exporter by traces
        ["net/a/Conv2D", "net/a/Relu", "net/b/Conv2D", "net/Softmax"],  # tf2onnx
    ],
)
@pytest.mark.parametrize("compiler", ["onnxruntime", "openvino", "tvm"])
def test_kernels_of_a_file_whose_names_have_slashes_are_told_apart(
    names: list[str], compiler: str, exported: Export, tmp_path: Path
) -> None:
    suffix = "_output_0" if names[0].startswith("/") else ":0"
    found = kernels_of([f"{name}{suffix}" for name in names], names, compiler, exported, tmp_path)
    assert found == {frozenset(names[:2]), frozenset(names[2:3]), frozenset(names[3:])}


def kernels_of(
    values: list[str], names: list[str], compiler: str, exported: Export, folder: Path
) -> set[frozenset[str]]:
    """Return the operations of each kernel of two convolutions, the first with a ReLU, and a softmax.

    Args:
        values: names of the results of the four operations.
        names: names of the operations.
    """
    require(compiler)
    operators = [("Conv", "w1"), ("Relu", ""), ("Conv", "w2"), ("Softmax", "")]
    made = []
    for (operator, weight), before, result, name in zip(operators, ["x", *values], values, names, strict=False):
        attributes: Any = {"Conv": {"pads": [1, 1, 1, 1]}, "Softmax": {"axis": 1}}.get(operator, {})
        made.append(helper.make_node(operator, [before, weight][: 1 + bool(weight)], [result], name, **attributes))
    output = value(values[-1], None)
    onnx.save(
        model(made, [value("x", [1, 3, 16, 16])], [output], w1=weights(8, 3, 3, 3), w2=weights(8, 8, 3, 3)),
        folder / "net.onnx",
    )
    case = Case(workload=str(folder / "net.onnx"), compiler=compiler, batch_size=1)
    artifact, resolved = exported(case), compilers.resolve(compiler)
    (compiled := folder / "compiled").mkdir()
    resolved.compile(artifact, CPU, compiled)
    with closing(profiling.instrument(compiler, resolved, artifact, CPU, compiled)) as profiled:
        return {frozenset(kernel.nodes) for kernel in profiled.profile(2) if not kernel.layout}
