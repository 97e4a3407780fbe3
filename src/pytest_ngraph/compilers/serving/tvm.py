"""Serve a library that TVM built, in its virtual machine."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from pytest_ngraph.artifact import Target
from pytest_ngraph.compilers.serving import Serving

CODE = '''
def load():
    """Return the function of the model. It is called in the thread that loads it."""
{settings}    machine = tvm.relax.VirtualMachine(tvm.runtime.load_module(str(HERE / "{file}")), {device})
    return machine["main"]


def answer(model, inputs):
    """Return the outputs, a list of arrays."""
    outputs = model(*(tvm.runtime.tensor(array, {device}) for array in inputs))
    return [each.numpy() for each in ([outputs] if isinstance(outputs, tvm.runtime.Tensor) else outputs)]
'''
POOL = """    os.environ["TVM_NUM_THREADS"] = str(THREADS)
{spins}    usable = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
    cores = [str(core) for core in sorted(usable)]
    tvm.get_global_func("runtime.config_threadpool")(-3, THREADS, cores)  # -3: each thread may use all of these cores
"""
SPINS = "TVM_THREAD_POOL_SPIN_COUNT"
"""Variable that says how often an idle thread looks for work before it sleeps."""


def deploy(target: Target, source: Path, folder: Path) -> Serving:
    """Write the library.

    Args:
        source: the library.
    """
    shutil.copyfile(source, folder / source.name)
    on_cpu = target.kind == "cpu"
    measured = os.environ.get(SPINS)
    spins = f'    os.environ.setdefault("{SPINS}", "{measured}")  # as measured: idle threads soon sleep\n'
    settings = POOL.format(spins=spins if measured else "") if on_cpu else ""
    return Serving(
        libraries=("tvm",),
        imports=("import tvm", *(["import os"] if on_cpu else [])),
        code=CODE.format(settings=settings, device="tvm.cpu()" if on_cpu else "tvm.cuda(0)", file=source.name),
        files={source.name: "the shared library that TVM built for this processor, with the weights"},
        notes=(
            "TVM starts threads of its own for each thread that calls it, so call `answer` from the one that loads.",
        ),
    )
