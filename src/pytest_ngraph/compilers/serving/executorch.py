"""Serve ExecuTorch's program in its Python bindings."""

from __future__ import annotations

import shutil
from pathlib import Path

from pytest_ngraph.compilers.serving import Serving
from pytest_ngraph.system.installed import is_importable

BINDINGS = "executorch.extension.pybindings"
CODE = '''
def load():
    """Return the method `forward` of the program."""
    runtime._unsafe_reset_threadpool(THREADS)
    return runtime._load_for_executorch(str(HERE / "{file}")).forward


def answer(model, inputs):
    """Return the outputs, a list of arrays."""
    require(inputs)
    return [tensor.numpy() for tensor in model([torch.from_numpy(array).contiguous() for array in inputs])]
'''


def bindings() -> str:
    """Return the name, in the package `BINDINGS`, of the module that loads programs. It needs PyTorch imported.

    The public one, `portable_lib`, also imports the compiler, for one of its warnings: seconds, and 200 MB.
    """
    of_any_version = ("_C", "_portable_lib")
    return next((name for name in of_any_version if is_importable(f"{BINDINGS}.{name}")), "portable_lib")


def deploy(source: Path, folder: Path) -> Serving:
    """Write the program.

    Args:
        source: the program in ExecuTorch's format.
    """
    shutil.copyfile(source, folder / source.name)
    return Serving(
        libraries=("executorch", "torch"),
        imports=("import torch", f"from {BINDINGS} import {bindings()} as runtime"),
        code=CODE.format(file=source.name),
        files={source.name: "ExecuTorch's program, with the weights"},
        takes_any=True,
    )
