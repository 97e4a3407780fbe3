"""Have a compiler do what it does once per process, before a compile is timed."""

from __future__ import annotations

import tempfile
from contextlib import suppress
from pathlib import Path

from pytest_ngraph.artifact import Artifact, Target
from pytest_ngraph.case import Case
from pytest_ngraph.compilers import Compiler, progress, threads
from pytest_ngraph.system import garbage
from pytest_ngraph.worker import memory
from pytest_ngraph.workloads.tiny import export_tiny

_PRIMED: set[tuple[str, Target, bool]] = set()
"""What this process has been primed for."""


def prime(case: Case, compiler: Compiler, artifact: Artifact, target: Target) -> None:
    """Compile something tiny, load it and run it, once per process for a compiler and target.

    The first compile of a process imports what no other compile imports, and fills caches; Inductor also tries the
    processor's vector instructions and precompiles headers. Which case comes first must not matter. Where it fails,
    nothing is reported: the compile that follows fails alike, or does not need it.
    """
    make = getattr(compiler, "for_priming", None)
    key = (case.compiler, target, artifact.onnx is not None)
    if make is None or key in _PRIMED:
        return
    _PRIMED.add(key)
    progress.report("compiling something tiny first")
    tiny = Case(workload="tiny", compiler=case.compiler, batch_size=1, precision=case.precision)
    with suppress(Exception), tempfile.TemporaryDirectory(prefix="ngraph-tiny-") as temporary:
        exported, compiled = Path(temporary, "exported"), Path(temporary, "compiled")
        exported.mkdir()
        compiled.mkdir()
        with garbage.without_garbage_collection(), threads.on_all_cores():
            small = export_tiny(tiny, exported, onnx=artifact.onnx is not None)
            chosen: Compiler = make()
            chosen.compile(small, target, compiled)
        model = chosen.load(small, target, compiled)
        try:
            model.outputs()
        finally:
            model.close()
    memory.give_back()
    progress.report("compiling")
