"""Serve an ONNX graph with ONNX Runtime: the graph as it came and as it was optimized for this processor."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pytest_ngraph.artifact import Artifact, Target
from pytest_ngraph.compilers.onnx_export import save_optimized
from pytest_ngraph.compilers.serving import Serving
from pytest_ngraph.errors import Unsupported
from pytest_ngraph.workloads.onnx import custom_operators
from pytest_ngraph.workloads.onnx import values as onnx_values
from pytest_ngraph.workloads.onnx.graph import files_of_weights

GRAPH, OPTIMIZED = "model.onnx", "optimized.onnx"
LARGEST_BYTES = 2**30
"""Above this, the weights of the optimized graph go to a file of their own: a single file holds at most 2 GiB."""

CODE = '''
{graphs}


def load():
    """Return a session."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, LEVEL)
    options.intra_op_num_threads = THREADS
    options.inter_op_num_threads = 1{operators}
{session}

{answer}'''
ON_CPU = """\
    return onnxruntime.InferenceSession(HERE / MODEL, options, providers={providers})"""
ON_CUDA = """\
    if hasattr(onnxruntime, "preload_dlls"):
        onnxruntime.preload_dlls()  # CUDA's libraries, from where pip installs them
    session = onnxruntime.InferenceSession(HERE / MODEL, options, providers={providers})
    used = session.get_providers()[0]
    if used != "CUDAExecutionProvider":  # it falls back without an error
        raise RuntimeError(
            f"ONNX Runtime uses {{used}}, not CUDAExecutionProvider, because it finds no GPU or not CUDA's libraries. "
            "Install requirements.txt, or have LD_LIBRARY_PATH name the folders of CUDA and cuDNN."
        )
    return session"""
ANSWER = '''
def answer(model, inputs):
    """Return the outputs, a list of arrays. Several threads may call it at a time."""
    names = names_of(model, inputs)
    return model.run(None, dict(zip(names, inputs)))
'''
ANSWER_COMPLEX = '''
COMPLEX = {complex_outputs}  # outputs whose two parts the graph has along a last axis, as it has those of inputs


def answer(model, inputs):
    """Return the outputs, a list of arrays. Several threads may call it at a time."""
    names = names_of(model, inputs)
    parts = [np.stack([each.real, each.imag], axis=-1) if np.iscomplexobj(each) else each for each in inputs]
    outputs = model.run(None, dict(zip(names, parts)))
    return [each[..., 0] + 1j * each[..., 1] if place in COMPLEX else each for place, each in enumerate(outputs)]
'''
NAMES = '''

def names_of(model, inputs):
    """Return the names of these inputs. Raises `ValueError` where the model takes more or fewer."""
    names = [each.name for each in model.get_inputs()]
    if len(inputs) != len(names):
        raise ValueError(f"the model takes {len(names)} inputs ({', '.join(names)}), not {len(inputs)}")
    return names
'''
SILENT = 'os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # as measured: it uploads no usage statistics'
REGISTER = """
    options.register_custom_ops_library(str(HERE / "{}"))"""


def deploy(
    artifact: Artifact, target: Target, source: Path, folder: Path, *, provider: tuple[str, dict[str, str]], level: str
) -> Serving:
    """Write the graph, and what ONNX Runtime's optimizations make of it for this processor.

    Args:
        source: the ONNX file, named `model.onnx`.
        provider: the execution provider, and its options.
        level: name of the level of optimizations.
    """
    if unusual := onnx_values.reasons(artifact):
        raise Unsupported(
            f"onnxruntime deploys graphs that take and give tensors of numbers, and {artifact.case.workload} has "
            f"{', '.join(unusual)}"
        )
    if "bf16" in (artifact.case.precision, *artifact.precisions):
        raise Unsupported("onnxruntime cannot be deployed in bf16: NumPy, whose arrays serve.py passes, lacks it")
    for file in sorted(source.parent.glob("model.*")):  # large weights are in a file beside the graph
        shutil.copyfile(file, folder / file.name)
    files = _described(folder, "the ONNX graph")
    spare: tuple[str, ...] = ()
    graphs = f'MODEL, LEVEL = "{GRAPH}", "{level}"'
    on_cpu = provider[0] == "CPUExecutionProvider"
    if on_cpu and level != "ORT_DISABLE_ALL":
        _optimize(folder, level, artifact.custom_ops)
        files[GRAPH] += ", for processors of another kind: `serve.py` has the line that loads it"
        shared = files_of_weights(folder / OPTIMIZED)  # weights that were not changed stay where they were
        spare = tuple(file for file in files if file not in shared)
        files |= _described(folder, "the graph as ONNX Runtime optimized it for this processor", OPTIMIZED)
        graphs = (
            f'MODEL, LEVEL = "{OPTIMIZED}", "ORT_DISABLE_ALL"  # optimized for the processor that it was measured on\n'
            f'# MODEL, LEVEL = "{GRAPH}", "{level}"  # for any processor, optimized when it is loaded'
        )
    operators = _operators(artifact.custom_ops, folder)
    streams = target.threads if target.objective == "throughput" else 1
    providers = str([provider if provider[1] else provider[0]]).replace("'", '"')
    return Serving(
        libraries=("onnxruntime" if on_cpu else "onnxruntime[cuda,cudnn]",),
        imports=("import os", "import onnxruntime"),
        before=(SILENT,),
        code=CODE.format(
            graphs=graphs,
            session=(ON_CPU if on_cpu else ON_CUDA).format(providers=providers),
            operators="".join(map(REGISTER.format, operators)),
            answer=_answer(artifact) + NAMES,
        ),
        files=files | dict.fromkeys(operators, "a library with operators of the graph"),
        spare=spare,
        threads=1 if streams > 1 else None,
        streams=streams,
        concurrent=True,
    )


def _answer(artifact: Artifact) -> str:
    """Return the code of `answer`. Graphs that PyTorch exports have complex numbers as pairs of real ones."""
    complex_outputs = [place for place, array in enumerate(artifact.reference()) if array.dtype.kind == "c"]
    if artifact.onnx is None and (complex_outputs or any(array.dtype.kind == "c" for array in artifact.inputs())):
        return ANSWER_COMPLEX.format(complex_outputs=complex_outputs)
    return ANSWER


def _operators(custom_ops: Sequence[str], folder: Path) -> list[str]:
    """Copy libraries with operators into the folder, and return the names of the copies."""
    names = [f"operators{number or ''}{Path(library).suffix}" for number, library in enumerate(custom_ops)]
    for name, library in zip(names, custom_ops, strict=True):
        shutil.copyfile(library, folder / name)
    return names


def _described(folder: Path, graph: str, name: str = GRAPH) -> dict[str, str]:
    """Return what the files are whose names begin like that of the graph: large weights are in one beside it."""
    files = sorted(file.name for file in folder.glob(f"{name.partition('.')[0]}.*"))
    return {file: graph if file == name else "large weights of the graph" for file in files}


def _optimize(folder: Path, level: str, custom_ops: Sequence[str]) -> None:
    import onnxruntime as ort

    options: Any = ort.SessionOptions()
    options.graph_optimization_level = getattr(ort.GraphOptimizationLevel, level)
    options.log_severity_level = 3  # it warns that the file is for this processor
    custom_operators.register(options, custom_ops)
    is_large = sum(file.stat().st_size for file in folder.iterdir()) > LARGEST_BYTES
    save_optimized(options, folder / OPTIMIZED, weights_apart=is_large)
    ort.InferenceSession(folder / GRAPH, options, providers=["CPUExecutionProvider"])
