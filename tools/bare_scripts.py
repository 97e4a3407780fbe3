"""Scripts that serve a deployed model as the library's own documentation does, one for each compiler."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_ngraph.case import Case, CompilerSpec
from pytest_ngraph.errors import NgraphError

OF_INPUTS = ("img_size",)
"""Arguments that only say how large inputs are. Some of timm's models do not take them, and none needs them here."""
BARE = '''\
"""After {source}"""

from pathlib import Path

import numpy as np
{imports}

HERE = Path(__file__).parent


def load():
{load}


def samples():
    with np.load(HERE / "inputs.npz") as archive:
        return [archive[name] for name in archive.files]


def answer(model, inputs):
{answer}
'''
TORCH = """\
    with torch.inference_mode():
        return model(*map(torch.from_numpy, inputs)).numpy()"""


@dataclass(frozen=True, slots=True)
class Bare:
    """The lines of a script after a library's documentation.

    Attributes:
        source: where that documentation is.
    """

    source: str
    imports: str
    load: str
    answer: str = TORCH


SCRIPTS = {
    "identity": Bare(
        "https://huggingface.co/docs/timm/quickstart",
        "import timm\nimport torch",
        """\
    model = timm.create_model({model})
    model.load_state_dict(torch.load(HERE / "weights.pt"))
    return model.eval()""",
    ),
    "torchscript": Bare(
        "https://docs.pytorch.org/docs/stable/generated/torch.jit.optimize_for_inference.html",
        "import torch",
        '    return torch.jit.optimize_for_inference(torch.jit.load(HERE / "model.pt").eval())',
    ),
    "inductor": Bare(
        "https://docs.pytorch.org/tutorials/recipes/torch_export_aoti_python.html",
        "import torch\nimport torch._inductor",
        '    return torch._inductor.aoti_load_package(str(HERE / "model.pt2"))',
    ),
    "onnxruntime": Bare(
        "https://onnxruntime.ai/docs/performance/model-optimizations/graph-optimizations.html",
        'import os\nos.environ["ORT_DISABLE_TELEMETRY"] = "1"  # as in serve.py\nimport onnxruntime as ort',
        """\
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL  # the file is optimized
    return ort.InferenceSession(HERE / "optimized.onnx", options, providers=["CPUExecutionProvider"])""",
        "    return model.run(None, {model.get_inputs()[0].name: inputs[0]})",
    ),
    "openvino": Bare(
        "https://docs.openvino.ai/2025/openvino-workflow/running-inference.html",
        'import sys\nsys.modules["openvino_telemetry"] = None  # as in serve.py\nimport openvino as ov',
        """\
    precision = {"INFERENCE_PRECISION_HINT": "f32"}  # processors with AMX or AVX512_BF16 would compute in bfloat16
    return ov.Core().compile_model(HERE / "model.xml", "CPU", precision)""",
        "    return model(inputs)[0]",
    ),
    "tvm": Bare(
        "https://tvm.apache.org/docs/how_to/tutorials/export_and_load_executable.html",
        "import tvm\nfrom tvm import relax",
        """\
    return relax.VirtualMachine(tvm.runtime.load_module(str(HERE / "model.so")), tvm.cpu())""",
        '    return model["main"](*(tvm.runtime.tensor(array) for array in inputs)).numpy()',
    ),
    "executorch": Bare(
        "https://docs.pytorch.org/executorch/stable/runtime-python-api-reference.html",
        "import torch\nfrom executorch.runtime import Runtime",
        '    return Runtime.get().load_program(HERE / "model.pte").load_method("forward")',
        "    return model.execute([torch.from_numpy(array) for array in inputs])[0].numpy()",
    ),
}


def of(case: Case) -> str:
    """Return the `serve.py` that its library's documentation leads to. Raise `NgraphError` for another compiler."""
    name = CompilerSpec.parse(case.compiler).name
    if name not in SCRIPTS:
        raise NgraphError(f"{case.id}: no bare script is written for {name}")
    lines = SCRIPTS[name]
    arguments = [(key, value) for key, value in case.model_args if key not in OF_INPUTS]
    given = ", ".join([f'"{case.workload}"', *(f"{key}={value!r}" for key, value in arguments)])
    load = lines.load.replace("{model}", given)
    return BARE.format(source=lines.source, imports=lines.imports, load=load, answer=lines.answer)


def source(compiler: str) -> str:
    """Return where the documentation of a compiler's library is."""
    return SCRIPTS[CompilerSpec.parse(compiler).name].source
