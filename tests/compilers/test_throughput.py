"""Streams and requests are compared with each other by the rules of the artifact, as with eager PyTorch."""

from __future__ import annotations

from pathlib import Path

import pytest
from compiled import THROUGHPUT, Export, Load

from pytest_ngraph.case import Case
from pytest_ngraph.workloads.verify import agreement

needs_two_cores = pytest.mark.skipif(THROUGHPUT.threads < 2, reason="one core has one stream")


@needs_two_cores
@pytest.mark.parametrize(
    "compiler",
    ["identity", "torchscript", "onnxruntime", "openvino:streams=2", pytest.param("inductor", marks=pytest.mark.slow)],
)
def test_each_stream_draws_its_own_values(compiler: str, load: Load, exported: Export) -> None:
    case = Case(workload="odd_nets:sampled", compiler=compiler, batch_size=1, objective="throughput")
    model = load(case, THROUGHPUT)
    assert model.concurrency == 2
    assert agreement(model.outputs(), exported(case), "fp32").agrees


@needs_two_cores
@pytest.mark.parametrize("compiler", ["onnxruntime", "openvino:streams=2"])
def test_each_stream_of_an_onnx_file_draws_its_own_values(
    compiler: str, load: Load, exported: Export, tmp_path: Path
) -> None:
    onnx = pytest.importorskip("onnx")
    import onnx_models

    model = onnx_models.linear([2, 4])
    model.graph.node.append(onnx.helper.make_node("RandomNormalLike", ["y"], ["noise"]))
    model.graph.output.append(onnx.helper.make_tensor_value_info("noise", onnx.TensorProto.FLOAT, [2, 3]))
    onnx.save(model, tmp_path / "drawing.onnx")
    case = Case(workload=str(tmp_path / "drawing.onnx"), compiler=compiler, batch_size=2, objective="throughput")
    assert agreement(load(case, THROUGHPUT).outputs(), exported(case), "fp32").agrees


@needs_two_cores
@pytest.mark.parametrize("where", ["buffer", "list"])
@pytest.mark.parametrize(
    "compiler",
    [
        "identity",
        "identity:graph=program",
        "torchscript",
        pytest.param("inductor:graph=module", marks=pytest.mark.slow),
    ],
)
def test_streams_share_nothing_that_calls_change(compiler: str, where: str, load: Load, exported: Export) -> None:
    case = Case(
        workload="nets_with_state:accumulating",
        compiler=compiler,
        batch_size=4,
        objective="throughput",
        model_args=(("where", where),),
    )
    artifact, model = exported(case), load(case, THROUGHPUT)
    for _ in range(200):
        assert agreement(model.outputs(), artifact, "fp32").agrees
