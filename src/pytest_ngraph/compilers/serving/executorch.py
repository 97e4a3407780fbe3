"""Serve ExecuTorch's program in its Python bindings."""

from __future__ import annotations

import shutil
from pathlib import Path

from pytest_ngraph.compilers.serving import Serving

CODE = '''
def load():
    """Return the method `forward` of the program."""
    portable_lib._unsafe_reset_threadpool(THREADS)
    return portable_lib._load_for_executorch(str(HERE / "{file}")).forward


def answer(model, inputs):
    """Return the outputs, a list of arrays."""
    require(inputs)
    return [tensor.numpy() for tensor in model([torch.from_numpy(array).contiguous() for array in inputs])]
'''


def deploy(source: Path, folder: Path) -> Serving:
    """Write the program.

    Args:
        source: the program in ExecuTorch's format.
    """
    shutil.copyfile(source, folder / source.name)
    return Serving(
        libraries=("executorch", "torch"),
        imports=("import torch", "from executorch.extension.pybindings import portable_lib"),
        code=CODE.format(file=source.name),
        files={source.name: "ExecuTorch's program, with the weights"},
        takes_any=True,
    )
