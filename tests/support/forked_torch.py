"""What the server of `forking.py` imports for tests of PyTorch and of compilers.

It also exports a small model: `torch.export` imports hundreds of modules only then. And it looks for the module of a
file, as whoever declares an operator does: `inspect` remembers where all the modules lie.
"""

from __future__ import annotations

import inspect
import tempfile
from pathlib import Path
from typing import ClassVar

import forked_side

from pytest_ngraph.case import Case
from pytest_ngraph.workloads.blocks import Blocks

SMALL = Case(workload="mha", compiler="identity", batch_size=1, depth=1, width=4, model_args=(("heads", 1),))


class Imports(forked_side.Light):
    libraries: ClassVar = ("torch", "torch.export", "torch._dynamo", "torch.onnx", "onnxscript")


def practise() -> None:
    """Export a model on one thread: a process that has more cannot be forked."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        Blocks().export(SMALL, Path(folder))
    torch.set_num_threads(threads)


practise()
inspect.getmodule(practise.__code__, __file__)
