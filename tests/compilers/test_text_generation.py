"""The steps of generating text under the compilers: with the cache as inputs and outputs of the graph."""

from __future__ import annotations

import pytest
from compiled import Export, Load, require

from pytest_ngraph.case import Case, Scalar
from pytest_ngraph.compilers import CompiledModel
from pytest_ngraph.workloads.verify import verify

pytest.importorskip("transformers")

GPT2: dict[str, Scalar] = {"n_layer": 1, "n_embd": 32, "n_head": 2, "vocab_size": 100}
COMPILERS = [
    "identity",
    "torchscript",
    "onnxruntime",
    "openvino",
    "tvm",
    pytest.param("inductor", marks=pytest.mark.slow),
]


@pytest.mark.parametrize("step", ["prefill", "decode"])
@pytest.mark.parametrize("compiler", COMPILERS)
def test_steps_agree_with_eager(compiler: str, step: str, load: Load, exported: Export) -> None:
    require(compiler)
    arguments = tuple(sorted({**GPT2, "step": step}.items()))
    case = Case(workload="hf:gpt2", compiler=compiler, batch_size=2, sizes=(("seq_len", 8),), model_args=arguments)
    model: CompiledModel = load(case)
    artifact = exported(case)
    assert verify(model.outputs(), artifact.reference(), "fp32").agrees
    assert "output['cache']['layers.0.keys']" in artifact.output_names
    assert ("cache['layers.0.keys']" in artifact.input_names) == (step == "decode")
