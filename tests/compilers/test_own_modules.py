"""Modules that `torch.export` refuses, or that are left as they are, under every compiler."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
from compiled import CPU, Export, require

from pytest_ngraph import compilers
from pytest_ngraph.case import Case
from pytest_ngraph.errors import Unsupported
from pytest_ngraph.workloads.verify import coarsest, verify

each_compiler = pytest.mark.parametrize(
    "compiler",
    [pytest.param(name, marks=[pytest.mark.slow] * (name == "inductor")) for name in compilers.names()],
)
"""Inductor takes ten seconds to compile anything."""


@each_compiler
def test_a_model_that_cannot_be_exported_runs_where_modules_are_compiled(
    compiler: str, exported: Export, tmp_path: Path
) -> None:
    require(compiler)
    case = Case(workload="twice:branching", compiler=compiler, batch_size=2)
    artifact, subject = exported(case), compilers.resolve(compiler)
    assert artifact.export_error
    runs_module = compilers.runs_module(compiler, artifact)
    assert runs_module == (compiler in ("identity", "inductor", "onnxruntime", "openvino", "torchscript"))
    if not runs_module:
        with pytest.raises(
            Unsupported, match=r"torch\.export refuses twice:branching: .*twice\.py, line \d+, in forward"
        ):
            subject.compile(artifact, CPU, tmp_path)
        return
    subject.compile(artifact, CPU, tmp_path)
    with closing(subject.load(artifact, CPU, tmp_path)) as model:
        assert verify(model.outputs(), artifact.reference(), "fp32").agrees
        assert model.facts.get("source") == {
            "inductor": "module",
            "onnxruntime": "trace",
            "openvino": "trace",
            "torchscript": "script",
        }.get(compiler)


@each_compiler
def test_a_function_may_train_its_module(compiler: str, exported: Export, tmp_path: Path) -> None:
    require(compiler)
    case = Case(workload="twice:trained", compiler=compiler, batch_size=2)
    artifact, subject = exported(case), compilers.resolve(compiler)
    if not compilers.runs_module(compiler, artifact):
        pytest.skip("it compiles no module")
    subject.compile(artifact, CPU, tmp_path)
    with closing(subject.load(artifact, CPU, tmp_path)) as model:
        assert verify(model.outputs(), artifact.reference(), "fp32").agrees


@each_compiler
@pytest.mark.parametrize("function", ["mixed", "dynamically_quantized", "convolution_in_bf16"])
def test_a_module_that_is_left_as_it_is_agrees_with_eager(
    compiler: str, function: str, exported: Export, tmp_path: Path
) -> None:
    require(compiler)
    case = Case(workload=f"as_is:{function}", compiler=compiler, batch_size=2)
    artifact, subject = exported(case), compilers.resolve(compiler)
    try:
        subject.compile(artifact, CPU, tmp_path)
        model = subject.load(artifact, CPU, tmp_path)
    except Unsupported as reason:
        if compiler in ("identity", "torchscript"):
            raise
        pytest.skip(str(reason))
    with closing(model):
        precision = coarsest(artifact.precisions, otherwise="fp32")
        assert verify(model.outputs(), artifact.reference(), precision, quantized=artifact.quantized).agrees


@pytest.mark.parametrize("function", ["scripted", "frozen", "traced"])
@pytest.mark.parametrize("compiler", ["identity", "torchscript", "inductor", "onnxruntime", "openvino"])
def test_a_script_runs_as_its_author_made_it(compiler: str, function: str, exported: Export, tmp_path: Path) -> None:
    require(compiler)
    case = Case(workload=f"odd_nets:{function}", compiler=compiler, batch_size=1)
    artifact, subject = exported(case), compilers.resolve(compiler)
    if compiler == "inductor":
        with pytest.raises(Unsupported, match=r"torch\.compile compiles no ScriptModule"):
            subject.load(artifact, CPU, tmp_path)
        return
    subject.compile(artifact, CPU, tmp_path)
    with closing(subject.load(artifact, CPU, tmp_path)) as model:
        assert verify(model.outputs(), artifact.reference(), "fp32").agrees
