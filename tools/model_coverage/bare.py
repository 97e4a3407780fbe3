"""One model under one compiler, called by its own documented interface, without pytest-ngraph's compilers.

python tools/model_coverage/bare.py COMPILER < entry.json     # prints one line of JSON

Models of timm and torchvision are made by these libraries' own functions. Those of torchvision get the weights of the
family `torchvision:`, with which a detector finds something, and what it finds is compared as a set, as in
pytest-ngraph. The inputs of transformers' models, which no library makes, and the step that a model of text runs come
from the family `hf:`.
"""

from __future__ import annotations

import inspect
import json
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

TOLERANCE = 1e-4
"""Largest error over the largest value of an output, as for pytest-ngraph in fp32."""

TRACE: Any = torch.jit.trace

stage = "build"
"""What is being done, and so what an error belongs to."""


def main() -> None:
    entry, compiler = json.load(sys.stdin), sys.argv[1]
    warnings.simplefilter("ignore")
    try:
        is_file = entry["family"] == "onnx"
        error = run_file(entry, compiler) if is_file else run_module(*make(entry), compiler)
    except Exception as problem:  # whatever a library raises is the finding
        lines = [line.strip() for line in str(problem).splitlines() if line.strip()]
        found = {"outcome": "fails", "stage": stage, "reason": f"{type(problem).__name__}: {lines[0] if lines else ''}"}
    else:
        found = {"outcome": "agrees", "stage": "", "reason": ""}
        if error > TOLERANCE:
            found = {"outcome": "fails", "stage": "agree", "reason": f"outputs differ by {error:.0e}"}
    print(json.dumps(found))


def make(entry: dict[str, Any]) -> tuple[torch.nn.Module, tuple[Any, ...], dict[str, Any]]:
    """Return the model and its arguments."""
    torch.manual_seed(0)
    name = entry["name"]
    if entry["family"] == "timm":
        import timm

        model = timm.create_model(name).eval()
        return model, (torch.randn(1, *timm.data.resolve_model_data_config(model)["input_size"]),), {}
    from pytest_ngraph import workloads
    from pytest_ngraph.case import Case

    arguments, sizes = (tuple(sorted(entry[key].items())) for key in ("model_args", "sizes"))
    case = Case(workload=entry["workload"], compiler="identity", batch_size=1, model_args=arguments, sizes=sizes)
    built = workloads.build(case)
    if entry["family"] == "torchvision":
        from torchvision.models import get_model, get_model_builder

        takes_backbone = "weights_backbone" in inspect.signature(get_model_builder(name)).parameters
        backbone = {"weights_backbone": None} if takes_backbone else {}
        return reporting(get_model(name, weights=None, **backbone).eval(), built.module), built.args, {}
    return built.module, built.args, built.kwargs


def reporting(model: torch.nn.Module, like: torch.nn.Module) -> torch.nn.Module:
    """Return a model with the weights and score thresholds of another of its kind."""
    model.load_state_dict(like.state_dict())
    for one, other in zip(model.modules(), like.modules(), strict=True):
        if hasattr(other, "score_thresh"):
            one.score_thresh = other.score_thresh
    return model


def tensors(outputs: object) -> list[np.ndarray[Any, Any]]:
    leaves = torch.utils._pytree.tree_leaves(outputs)
    return [leaf.detach().numpy() for leaf in leaves if isinstance(leaf, torch.Tensor)]


def worst(found: list[np.ndarray[Any, Any]], expected: list[np.ndarray[Any, Any]]) -> float:
    """Return the largest difference over the largest value, of the worst output."""
    assert len(found) == len(expected), f"{len(found)} outputs, expected {len(expected)}"
    errors = [0.0]
    for one, other in zip(found, expected, strict=True):
        assert one.shape == other.shape, f"shape {one.shape}, expected {other.shape}"
        finite = np.isfinite(other.astype(float)) & (np.abs(other.astype(float)) < 1e30)
        if finite.any():
            difference = np.abs(one.astype(float)[finite] - other.astype(float)[finite]).max()
            errors.append(float(difference / (np.abs(other.astype(float)[finite]).max() or 1.0)))
    return max(errors)


def run_module(model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], compiler: str) -> float:
    global stage
    stage = "run"
    with torch.no_grad():
        returned = model(*args, **kwargs)
        expected = tensors(returned)
        assert any(each.size for each in expected), "its outputs have no values that could agree"
        stage = "compile"
        found = MODULES[compiler](model, args, kwargs)
        of_images = isinstance(returned, list) and all(isinstance(each, dict) for each in returned)
        return as_sets(found, returned) if of_images else worst(found, expected)


def as_sets(found: list[np.ndarray[Any, Any]], returned: list[Any]) -> float:
    """Return the largest difference from what a detector returned, whose boxes come in any order."""
    from pytest_ngraph.workloads.structure import leaves
    from pytest_ngraph.workloads.verify import verify

    names = [leaf.path for leaf in leaves(returned, "output")]
    return verify(found, tensors(returned), "fp32", names=names, data_dependent=names).error


def identity(model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    return tensors(model(*args, **kwargs))


def export(model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    return tensors(torch.export.export(model, args, kwargs).module()(*args, **kwargs))


def torchscript(model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """Trace, or script what cannot be traced."""
    try:
        traced = TRACE(model, example_inputs=args or None, example_kwarg_inputs=kwargs or None, strict=False)
    except Exception:
        traced = torch.jit.script(model)
    frozen = torch.jit.optimize_for_inference(torch.jit.freeze(traced.eval()))
    found = frozen(*args, **kwargs)
    return tensors(found[1] if isinstance(found, tuple) and len(found) == 2 and isinstance(found[1], list) else found)


def inductor(model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    return tensors(torch.compile(model)(*args, **kwargs))


def onnxruntime(model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """Export the program, or a trace of the module where that fails."""
    import onnxruntime as ort

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        try:
            torch.onnx.export(model, args, path, kwargs=kwargs, dynamo=True, external_data=True, verbose=False)
        except Exception:
            torch.onnx.export(model, args, path, kwargs=kwargs, dynamo=False)
        session = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
        names = [each.name for each in session.get_inputs()]
        given = tensors((args, kwargs))
        return list(session.run(None, dict(zip(names, given, strict=True))))


def openvino(model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """Convert the module with its example inputs, or its exported program where that fails."""
    import openvino as ov

    try:
        converted = ov.convert_model(model, example_input=kwargs or (args if len(args) > 1 else args[0]))
    except Exception:
        converted = ov.convert_model(torch.export.export(model, args, kwargs))
    compiled = ov.compile_model(converted, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    return list(compiled(tensors((args, kwargs))).values())


def tvm(model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    import tvm as library
    from tvm import relax
    from tvm.relax.frontend.torch import from_exported_program

    module = from_exported_program(torch.export.export(model, args, kwargs))
    executable = library.compile(module, target="llvm")
    return called(relax.VirtualMachine(executable, library.cpu()), library, tensors((args, kwargs)))


def called(machine: Any, library: Any, given: list[Any]) -> list[Any]:
    found = machine["main"](*(library.runtime.tensor(np.ascontiguousarray(each)) for each in given))
    return [found.numpy()] if hasattr(found, "numpy") else [each.numpy() for each in found]


MODULES: dict[str, Callable[..., list[Any]]] = {
    each.__name__: each for each in (identity, export, torchscript, inductor, onnxruntime, openvino, tvm)
}


def run_file(entry: dict[str, Any], compiler: str) -> float:
    """Run an ONNX file on inputs of the entry's shapes."""
    import onnxruntime as ort

    global stage
    stage = "run"
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    plain = ort.InferenceSession(entry["workload"], options, providers=["CPUExecutionProvider"])
    generator = np.random.default_rng(0)
    given = {each.name: drawn(generator, each, entry) for each in plain.get_inputs()}
    expected = plain.run(None, given)
    stage = "compile"
    return worst(FILES[compiler](Path(entry["workload"]), given), expected)


def drawn(generator: np.random.Generator, value: Any, entry: dict[str, Any]) -> np.ndarray[Any, Any]:
    sizes = {**entry["sizes"], "batch": 1}
    shape = entry["shapes"].get(value.name, value.shape)
    whole = [axis if isinstance(axis, int) else sizes.get(axis, 1) for axis in shape]
    if "int" in value.type or "bool" in value.type:
        kind = {"tensor(int64)": np.int64, "tensor(int32)": np.int32, "tensor(bool)": np.bool_}[value.type]
        return np.asarray(generator.integers(0, 2, whole)).astype(kind)
    return generator.standard_normal(whole).astype(np.float16 if "float16" in value.type else np.float32)


def file_in_onnxruntime(path: Path, given: dict[str, Any]) -> list[Any]:
    import onnxruntime as ort

    return list(ort.InferenceSession(path, providers=["CPUExecutionProvider"]).run(None, given))


def file_in_openvino(path: Path, given: dict[str, Any]) -> list[Any]:
    import openvino as ov

    model = ov.Core().read_model(path)
    compiled = ov.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    return list(compiled(given).values())


def file_in_tvm(path: Path, given: dict[str, Any]) -> list[Any]:
    import onnx
    import tvm as library
    from tvm import relax
    from tvm.relax.frontend.onnx import from_onnx

    shapes = {name: list(array.shape) for name, array in given.items()}
    module = from_onnx(onnx.load(path), shape_dict=shapes, keep_params_in_input=False)
    executable = library.compile(relax.transform.DecomposeOpsForInference()(module), target="llvm")
    return called(relax.VirtualMachine(executable, library.cpu()), library, list(given.values()))


FILES = {"onnxruntime": file_in_onnxruntime, "openvino": file_in_openvino, "tvm": file_in_tvm}
"""Compilers that read ONNX files. The file as ONNX Runtime runs it without optimizations is the reference."""

if __name__ == "__main__":
    main()
