"""Serve what PyTorch itself executes: a module or its exported program, TorchScript, and AOTInductor's package."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ngraph.artifact import Artifact, Target
from pytest_ngraph.compilers import kinds, program, pytorch
from pytest_ngraph.compilers.serving import Serving, is_bf16
from pytest_ngraph.errors import Unsupported
from pytest_ngraph.wording import listed
from pytest_ngraph.workloads.flat import takes_tensors
from pytest_ngraph.workloads.tensors import dtype

if TYPE_CHECKING:
    from pytest_ngraph.workloads import Construction

CODE = '''
{constants}def load():
    """Return the model."""
    torch.set_num_threads(THREADS)
{load}
    keep_freed_memory()
    return model


def keep_freed_memory():
    """Have glibc keep what is freed, as when this was measured: else each call may ask the system for it again."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt and not any(name.startswith(("GLIBC_TUNABLES", "MALLOC_")) for name in os.environ):
        mallopt(-1, -1)  # M_TRIM_THRESHOLD
        mallopt(-4, 0)  # M_MMAP_MAX


def answer(model, inputs):
    """Return the outputs, a list of arrays."""
    require(inputs)
    torch.get_num_threads()  # in each thread, the first call sets OpenMP's number of threads to PyTorch's
    tensors = {tensors}
    with torch.inference_mode():
        outputs = model({given})
        outputs = [outputs] if isinstance(outputs, torch.Tensor) else outputs
        return [values(tensor) for tensor in outputs]


def values(tensor):
    """Return an output as an array of its own, also a weight or an input, and what is only marked as a conjugate."""
{given_back}
    return tensor.resolve_conj().resolve_neg().numpy()
'''
AS_MEASURED = """    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True  # as measured: cuDNN times its algorithms in the first call
"""
LACKS_RUNNERS = re.compile(r"2\.[0-7]\.")
"""Versions of PyTorch whose loader of packages has no parameters for runners and device."""
PACKAGE = """    # torch._inductor.aoti_load_package, which wraps this, first compiles programs that try the processor.
    loader = torch._C._aoti.AOTIModelPackageLoader(str(HERE / "{file}"), "model", False{further})
    model = loader.boxed_run
"""
UNPACKED = (
    "`load()` unpacks the package into the folder for temporary files (`TMPDIR`, or `/tmp`), and removes it later. "
    "That folder must be writable, and libraries in it may be loaded (no `noexec`)."
)
SCRIPT = """    module = torch.jit.load(HERE / "{file}", map_location="{device}").eval()
    model = {module}
"""
MODULE = """    model = {expression}.eval(){moved}
    model.load_state_dict(torch.load(HERE / "{file}", weights_only=True))
"""
LAYOUT = """    for weight in (*model.parameters(), *model.buffers()):
        if weight.ndim == 4:
            weight.data = weight.data.contiguous(memory_format=torch.channels_last)
"""
MOST_NAMED = 4
"""Buffers that a message names."""
PROGRAM_FILE, WEIGHTS_FILE = "program.pt2", "weights.pt"
QUANTIZED = "import torch.ao.quantization.fx._decomposed  # the operators of the quantized program"


def deploy_package(artifact: Artifact, target: Target, package: Path, folder: Path) -> Serving:
    """Write AOTInductor's package. It reads inputs as they lie in memory, whatever their type, shape and strides."""
    shutil.copyfile(package, folder / package.name)
    files = {package.name: "AOTInductor's package: a shared library with the weights, for this processor"}
    further = "" if LACKS_RUNNERS.match(version("torch")) else ", 1, -1"
    load = PACKAGE.format(file=package.name, further=further)
    return replace(_serving(artifact, target, load, files, given="tensors"), notes=(UNPACKED,))


def deploy_script(
    artifact: Artifact, target: Target, script: Path, folder: Path, *, source: str, optimize: bool
) -> Serving:
    """Write a frozen TorchScript module.

    Args:
        script: the module.
        source: what it was made from: `program`, `script` or `trace`.
        optimize: whether it is optimized for inference when it is loaded.

    Raises:
        Unsupported: the module was scripted, and takes or gives more than tensors.
    """
    if source == "script":
        _refuse_nested(artifact, target, script)
    shutil.copyfile(script, folder / script.name)
    module = "torch.jit.optimize_for_inference(module)" if optimize else "module"
    load = SCRIPT.format(file=script.name, device=kinds.device(target), module=module)
    return _serving(artifact, target, load, {script.name: "the frozen TorchScript module"})


def deploy_program(artifact: Artifact, target: Target, folder: Path, *, channels_last: bool = False) -> Serving:
    """Write the exported program; for a GPU as it is measured there, with views that copy where they must."""
    device = kinds.device(target)
    if device != "cpu":
        _save_with_any_strides(artifact, folder / PROGRAM_FILE)
    else:
        shutil.copyfile(program.file(artifact), folder / PROGRAM_FILE)
    imports = [QUANTIZED] * artifact.quantized
    read = f'torch.export.load(HERE / "{PROGRAM_FILE}")'
    moved = _moved(target, [])
    if device != "cpu":
        imports.append("from torch.export.passes import move_to_device_pass")
        read = f'move_to_device_pass({read}, "{device}")'
    load = f"    model = {read}.module(){moved}\n"
    files = {PROGRAM_FILE: "the exported program, with the weights"}
    return _serving(artifact, target, load, files, imports=imports, channels_last=channels_last)


def _save_with_any_strides(artifact: Artifact, path: Path) -> None:
    import torch

    loaded = program.load(artifact)
    pytorch.with_any_strides(loaded.graph_module)
    torch.export.save(loaded, path)


def deploy_module(
    artifact: Artifact, target: Target, construction: Construction, folder: Path, *, channels_last: bool
) -> Serving:
    """Write the state of the module, which `serve.py` builds as the workload does."""
    import torch

    state = pytorch.rebuilt(artifact, target).module.state_dict()
    torch.save({name: value.cpu() for name, value in state.items()}, folder / WEIGHTS_FILE)
    changes = [] if target.precision == "fp32" else [str(dtype(target.precision))]
    moved = _moved(target, changes)
    load = MODULE.format(expression=construction.expression, moved=moved, file=WEIGHTS_FILE)
    files = {WEIGHTS_FILE: f"the weights of {construction.expression}"}
    return _serving(artifact, target, load, files, imports=construction.imports, channels_last=channels_last)


def _serving(
    artifact: Artifact,
    target: Target,
    load: str,
    files: dict[str, str],
    *,
    imports: Iterable[str] = (),
    given: str = "*tensors",
    channels_last: bool = False,
) -> Serving:
    """Return how a callable answers that takes and gives tensors.

    Args:
        load: the lines of `load` that make it, `model`.
        given: its arguments, made from the list `tensors`.

    Raises:
        Unsupported: the program has operators that the user's own files define, or calls side by side would write into
            the same buffer.
    """
    streams = target.threads if target.objective == "throughput" else 1
    if artifact.written and streams > 1:
        raise Unsupported(
            f"{artifact.case.workload} writes into {listed(artifact.written, MOST_NAMED)} in each call, and calls side "
            "by side would read what another has written. Measure and deploy the objective latency"
        )
    if artifact.calls_own_code:
        homes = ", ".join(artifact.operators)
        raise Unsupported(f"{homes} defines operators of its program, and serve.py has no code of yours")
    types = [tensor.dtype for tensor in program.inputs(artifact)]
    lower = any(map(is_bf16, types)) or "bf16" in (target.precision, *artifact.precisions)
    # The measured inputs are contiguous, so exporting drops a `contiguous` of the model that others would need.
    constants, tensors = "", "[torch.from_numpy(array).contiguous() for array in inputs]"
    if lower:
        constants = f"TYPES = [{', '.join(map(str, types))}]  # NumPy lacks bfloat16\n\n\n"
        tensors = "[torch.from_numpy(array).contiguous().to(dtype) for array, dtype in zip(inputs, TYPES)]"
    device = kinds.device(target)
    given_back = f"    tensor = tensor.detach().{'clone' if device == 'cpu' else 'cpu'}()"
    if device != "cpu":
        tensors = tensors.replace(" for ", f'.to("{device}") for ', 1)
    if device == "cuda":
        load = AS_MEASURED + load
    if lower:
        given_back += "\n    tensor = tensor.float() if tensor.is_floating_point() else tensor"
    if channels_last:
        load += LAYOUT
        given = "*(each.contiguous(memory_format=torch.channels_last) if each.ndim == 4 else each for each in tensors)"
    lines = ("import torch", *imports, *(f"import {library}" for library in artifact.operators))
    return Serving(
        libraries=tuple(dict.fromkeys(line.split()[1].partition(".")[0] for line in lines)),
        imports=("import ctypes", "import os", *lines),
        code=CODE.format(constants=constants, load=load.rstrip(), tensors=tensors, given=given, given_back=given_back),
        files=files,
        threads=1 if streams > 1 else None,
        streams=streams,
        concurrent=not artifact.written,
        takes_any=True,
    )


def _moved(target: Target, changes: list[str]) -> str:
    """Return the call that moves a module to the device, and changes it."""
    device = kinds.device(target)
    arguments = ", ".join([f'"{device}"'] * (device != "cpu") + changes)
    return f".to({arguments})" if arguments else ""


def _refuse_nested(artifact: Artifact, target: Target, script: Path) -> None:
    """Raise `Unsupported` where a scripted module takes or gives more than tensors."""
    import torch

    what = ""
    built = pytorch.rebuilt(artifact, target)
    if not takes_tensors(built):
        what = "takes"
    else:
        with torch.inference_mode():
            outputs = torch.jit.load(script, map_location=kinds.device(target))(*built.args)  # type: ignore[no-untyped-call]
        outputs = [outputs] if isinstance(outputs, torch.Tensor) else outputs
        if not (isinstance(outputs, (list, tuple)) and all(isinstance(each, torch.Tensor) for each in outputs)):
            what = "gives"
    if what:
        raise Unsupported(
            f"torchscript cannot deploy {artifact.case.workload}: its scripted module {what} more than tensors, and "
            "serve.py passes arrays"
        )
