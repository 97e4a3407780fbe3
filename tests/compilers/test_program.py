from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest
import torch
from compiled import CPU
from forking import Script

from pytest_ngraph.artifact import Artifact
from pytest_ngraph.case import Case
from pytest_ngraph.compilers import program
from pytest_ngraph.errors import Unsupported
from pytest_ngraph.workloads.export import export
from pytest_ngraph.workloads.verify import verify

if TYPE_CHECKING:
    from pathlib import Path

    from compiled import Export, Load
    from forking import TorchServer

MHA = Case(workload="mha", compiler="identity", batch_size=2, width=16)


def test_the_loaded_program_gives_the_reference(tmp_path: Path) -> None:
    artifact = export(MHA, tmp_path)
    module = program.load(artifact).module()
    (output,) = program.flatten(module(*program.inputs(artifact)))
    np.testing.assert_allclose(output, artifact.reference()[0], rtol=0, atol=1e-5)


def test_inputs_come_in_the_precision_of_the_case(tmp_path: Path) -> None:
    artifact = export(Case(workload="mha", compiler="identity", batch_size=2, width=16, precision="bf16"), tmp_path)
    (tensor,) = program.inputs(artifact)
    assert tensor.dtype is torch.bfloat16
    assert tensor.is_contiguous()
    assert artifact.inputs()[0].dtype == np.float32
    assert program.load(artifact).module()(tensor).dtype is torch.bfloat16


@pytest.mark.parametrize(
    "compiler",
    ["identity:graph=program", "torchscript", "openvino", pytest.param("inductor", marks=pytest.mark.slow)],
)
@pytest.mark.parametrize(
    ("function", "arguments"),
    [("channels_last", ()), ("channels_last", (("channels", 1),)), ("permuted", ())],
    ids=["channels_last", "grey", "permuted"],
)
def test_inputs_in_any_memory_layout_agree_with_eager(
    function: str, arguments: tuple[tuple[str, int], ...], compiler: str, load: Load, exported: Export
) -> None:
    """Exporting drops a `contiguous` that changes nothing, and compiled models are fed contiguous inputs."""
    case = Case(workload=f"layouts:{function}", compiler=compiler, batch_size=2, model_args=arguments)
    assert verify(load(case).outputs(), exported(case).reference(), "fp32").agrees


READ = """
import json, sys
from pytest_ngraph.artifact import Artifact
from pytest_ngraph.compilers import program
artifact = Artifact.from_dict(json.loads(sys.argv[1]))
print(program.load(artifact).module()(*program.inputs(artifact)).shape)
"""


def test_a_process_that_has_not_built_the_model_knows_its_operators(torch_server: TorchServer, tmp_path: Path) -> None:
    artifact = export(Case(workload="twice:build", compiler="inductor", batch_size=2), tmp_path)
    done = torch_server.run(Script(READ, (json.dumps(artifact.to_dict()),)), CPU.cores)
    assert done.stdout.strip() == "torch.Size([2, 3])", done.stderr


def test_an_onnx_file_has_no_program(tmp_path: Path) -> None:
    with pytest.raises(Unsupported, match=r"mha is an ONNX file, .*Use a compiler that reads ONNX"):
        program.load(Artifact(folder=tmp_path, case=MHA, onnx=tmp_path / "net.onnx"))


def test_a_model_that_cannot_be_exported_has_no_program_either(tmp_path: Path) -> None:
    with pytest.raises(Unsupported, match=r"torch\.export refuses mha: UserError: no trace"):
        program.load(Artifact(folder=tmp_path, case=MHA, export_error="UserError: no trace"))
