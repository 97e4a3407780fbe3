"""What TVM imports: programs with operators that its importer or our passes once got wrong, and ONNX files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx
import pytest
import torch
import tvm
from compiled import CPU, Export
from torch.nn import functional
from unusual import Function

from pytest_ngraph.artifact import Artifact
from pytest_ngraph.case import Case
from pytest_ngraph.compilers.tvm import Tvm, frontend, pipeline
from pytest_ngraph.errors import Unsupported
from pytest_ngraph.workloads.verify import verify

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

TVM = "pytest_ngraph.compilers.tvm:Tvm"
WEIGHTS = torch.randn(16, 8, 3, 3)
AFTER_A_CONVOLUTION: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "transposed convolution": lambda x: functional.conv_transpose2d(x, WEIGHTS, stride=2, padding=1),
    "layer norm over all axes": lambda x: functional.layer_norm(x, x.shape[1:]),
    "largest of each channel": lambda x: x * x.amax((-1, -2), keepdim=True),
    "smallest of all": lambda x: x - x.amin(),
    "group norm without scale": lambda x: functional.group_norm(x, 4),
    "paired places": lambda x: x[:, torch.tensor([0, 3, -1]), torch.tensor([[1], [0]])],
    "places apart": lambda x: x[torch.tensor([1, 0]), :, torch.tensor([2, -1])],
    "places along an axis": lambda x: x[:, :, torch.tensor([-1, 0, -8])],
    "last place": lambda x: x[:, :, -1] + x[:, :, 0],
    "windows": lambda x: x.unfold(2, 3, 2).unfold(3, 2, 1),
    "positions": lambda x: x * 10.0 ** (torch.arange(8) / 8),
    "rounded division": lambda x: torch.div(x, 3, rounding_mode="floor") + torch.arange(-4, 4) // 3,
}
"""Functions of a tensor of 16 channels, whose axes the passes before them have moved."""
COMPUTED_SHAPE = """
<ir_version: 8, opset_import: ["" : 17]>
net (float[2, 6, 4] x) => (float[2, 24] y) <int64[1] zero = {0}, int64[1] one = {1}, int32[1] rest = {-1}> {
    shape = Shape(x)
    whole = Cast<to=6>(shape)
    first = Slice(whole, zero, one, zero)
    rows = Concat<axis=0>(first, rest)
    given = Cast<to=7>(rows)
    y = Reshape(x, given)
}
"""


@pytest.mark.parametrize("after", AFTER_A_CONVOLUTION)
def test_what_follows_a_convolution_agrees(after: str, host: Any) -> None:
    module = torch.nn.Sequential(torch.nn.Conv2d(3, 16, 3), Function(AFTER_A_CONVOLUTION[after])).eval()
    images = torch.randn(2, 3, 10, 10)
    program = torch.export.export(module, (images,), strict=False)
    importers = [lambda: frontend.whole_relax_module(program), lambda: frontend.decomposed_relax_module(program)]
    executable, _ = pipeline.build(pipeline.lower(importers, host), host)
    found = tvm.relax.VirtualMachine(executable, tvm.cpu())["main"](tvm.runtime.tensor(images.numpy()))
    agreement = verify([found.numpy()], [module(images).detach().numpy()], "fp32")
    assert agreement.agrees, agreement.problem


@pytest.mark.parametrize("compiler", [Tvm(), Tvm(schedule="stock")], ids=["rules", "stock"])
def test_an_onnx_file_runs(compiler: Tvm, exported: Export, tmp_path: Path, host: Any) -> None:
    module = torch.nn.Sequential(torch.nn.Conv2d(3, 16, 3), torch.nn.BatchNorm2d(16), torch.nn.GELU())
    file = tmp_path / "net.onnx"
    torch.onnx.export(module.eval(), (torch.rand(2, 3, 20, 20),), file, dynamo=True, verbose=False)
    case = Case(workload=str(file), compiler=TVM, batch_size=2)
    model = loaded(compiler, exported(case), tmp_path)
    assert verify(model.outputs(), exported(case).reference(), "fp32").agrees
    assert model.facts["schedule"] == compiler.schedule


def test_an_onnx_operator_that_tvm_lacks_is_named(exported: Export, tmp_path: Path, host: Any) -> None:
    x = onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [2, 4, 4])
    y = onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [2])
    graph = onnx.helper.make_graph([onnx.helper.make_node("Det", ["x"], ["y"])], "net", [x], [y])
    file = tmp_path / "net.onnx"
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8), file)
    case = Case(workload=str(file), compiler=TVM, batch_size=2)
    with pytest.raises(Unsupported, match=r"TVM cannot import the file: .*Det"):
        loaded(Tvm(), exported(case), tmp_path)


def test_an_onnx_file_that_computes_its_shapes_runs(exported: Export, tmp_path: Path, host: Any) -> None:
    """PaddlePaddle's exporter writes shapes like this. TVM's importer takes them only as constants."""
    file = tmp_path / "net.onnx"
    onnx.save(onnx.parser.parse_model(COMPUTED_SHAPE), file)
    case = Case(workload=str(file), compiler=TVM, batch_size=2)
    model = loaded(Tvm(), exported(case), tmp_path)
    assert verify(model.outputs(), exported(case).reference(), "fp32").agrees
    with pytest.raises(Unsupported, match="TVM cannot import the file"):
        frontend.onnx_relax_module(file)


@pytest.mark.parametrize("opset", [7, 13])
def test_an_onnx_file_with_dropout_runs(exported: Export, tmp_path: Path, host: Any, opset: int) -> None:
    """Exporters of years ago left it in. Its mask, a second output, has no layout."""
    helper, float32 = onnx.helper, onnx.TensorProto.FLOAT
    nodes = [
        helper.make_node(*each) for each in (("Relu", ["x"], ["a"]), ("Dropout", ["a"], ["b"]), ("Sin", ["b"], ["y"]))
    ]
    x, y = (helper.make_tensor_value_info(name, float32, [2, 3, 8, 8]) for name in "xy")
    graph = helper.make_graph(nodes, "net", [x], [y])
    file = tmp_path / "net.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8), file)
    case = Case(workload=str(file), compiler=TVM, batch_size=2)
    model = loaded(Tvm(), exported(case), tmp_path)
    assert verify(model.outputs(), exported(case).reference(), "fp32").agrees


def loaded(compiler: Tvm, artifact: Artifact, folder: Path) -> Any:
    compiler.compile(artifact, CPU, folder)
    return compiler.load(artifact, CPU, folder)
