"""A program that Inductor compiles ahead of time into a package."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_ngraph.artifact import Artifact, Target
from pytest_ngraph.compilers import program, pytorch, threads
from pytest_ngraph.compilers.inductor import cpp_builds, headers, vector_isa
from pytest_ngraph.compilers.inductor.caching import caching_in

if TYPE_CHECKING:
    import torch

PACKAGE = "model.pt2"
UNFROZEN = "unfrozen.txt"
"""Exists where the program gives wrong outputs with its weights as constants, and says which."""


def write(loaded: torch.export.ExportedProgram, target: Target, path: Path, options: dict[str, Any]) -> None:
    """Compile a program into a package. `options` are Inductor's."""
    import torch
    import torch._inductor
    from torch._inductor.utils import clear_inductor_caches

    pytorch.set_up(target)  # loops are generated for this number of threads
    vector_isa.find_out()
    with (
        tempfile.TemporaryDirectory(prefix="ngraph-inductor-") as cache,
        caching_in(Path(cache)),
        threads.on_first_core(target),
        cpp_builds.side_by_side(),
        headers.kept(),
        torch.no_grad(),
    ):
        torch._inductor.aoti_compile_and_package(loaded, package_path=str(path), inductor_configs=options)
    clear_inductor_caches()  # torch 2.7 would include a header of this folder in what it compiles next


def run(path: Path) -> pytorch.Run:
    import torch

    # Not `torch._inductor.aoti_load_package`, which wraps this: it first spends seconds on compiling programs that try
    # the processor's vector instructions, and parses the structure of inputs and outputs again at every call.
    # Name, threads, runners and device are the defaults; older versions require them, torch 2.7 lacks the last two.
    package: Any = torch._C._aoti.AOTIModelPackageLoader  # its parameters differ from version to version
    try:
        loader = package(str(path), "model", False, 1, -1)
    except TypeError:
        loader = package(str(path), "model", False)
    return lambda *inputs: loader.boxed_run(list(inputs))


def disagreement(package: Path, artifact: Artifact, target: Target) -> str:
    """Return how the outputs of a package differ from those of eager PyTorch; empty where they agree."""
    from pytest_ngraph.workloads.verify import agreement

    pytorch.set_up(target)
    with threads.on_first_core(target):
        outputs = pytorch.PytorchModel(run(package), program.inputs(artifact), target).outputs()
    return agreement(outputs, artifact, target.precision).problem


def unfrozen(folder: Path) -> dict[str, object]:
    """Return the facts of a package that was compiled without freezing, and why."""
    note = folder / UNFROZEN
    return {"freezing": False, "unfrozen": note.read_text()} if note.exists() else {}
