"""Compile an artifact into a model, and verify the outputs of that model."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from pytest_ngraph import compilers
from pytest_ngraph.artifact import Artifact, Target
from pytest_ngraph.case import IDENTITY, Case, CompilerSpec
from pytest_ngraph.clock import Clock
from pytest_ngraph.compilers import CompiledModel, Compiler
from pytest_ngraph.machine import provenance
from pytest_ngraph.record import DRAWN, HIDDEN, Agreement
from pytest_ngraph.worker import memory
from pytest_ngraph.worker.cache import Cache, Entry
from pytest_ngraph.workloads import frameworks
from pytest_ngraph.workloads.verify import verify


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A compiled model that is ready to run but not yet verified.

    Attributes:
        model: the model.
        artifact: what it was compiled from.
        target: what it was compiled for.
        compile_s: seconds of a cold start, from the artifact to being ready to run; None for identity.
        load_s: seconds that it took this time; less than `compile_s` if it came from the cache.
        cached_at: when the cached artifact was compiled, in seconds since the epoch; None if it was compiled now.
        keep: puts what was compiled now into the cache.
    """

    model: CompiledModel
    artifact: Artifact
    target: Target
    compile_s: float | None
    load_s: float
    cached_at: float | None
    keep: Callable[[], None]

    @property
    def facts(self) -> dict[str, str]:
        """What the record says about the model: what it reports itself, and which parameters hide what they scale."""
        facts = {str(name): str(value) for name, value in self.model.facts.items()}
        drawn = "; ".join(f"{name}: {what}" for name, what in self.artifact.drawn.items())
        hidden = ", ".join(self.artifact.hidden)
        return facts | ({HIDDEN: hidden} if hidden else {}) | ({DRAWN: drawn} if drawn else {})

    def verify(self) -> Agreement:
        """Compare the outputs of a call with the reference; if they agree, keep what was compiled in the cache."""
        agreement = verify(
            self.model.outputs(),
            self.artifact.reference(),
            self.target.precision,
            quantized=self.artifact.quantized,
            names=self.artifact.output_names,
        )
        if agreement.agrees:
            self.keep()
        return agreement


def prepare(
    case: Case,
    artifact: Artifact,
    target: Target,
    folder: Path,
    cache: Cache | None = None,
    clock: Clock = time.perf_counter,
) -> Prepared:
    """Compile the artifact into `folder`, or take it from the cache, and load it.

    Importing the compiler's libraries does not count as compiling: it takes seconds, but only once per process.
    """
    compiler = compilers.resolve(case.compiler)
    import_libraries(compiler, with_torch=bool(artifact.program or artifact.onnx))
    is_identity = CompilerSpec.parse(case.compiler).name == IDENTITY
    if is_identity or not artifact.digest:
        cache = None
    inputs = provenance.of_compiling(case, target, artifact.digest) if cache else {}
    started = clock()
    model, entry = _load_cached(compiler, artifact, target, folder, cache, inputs)
    if model is None:
        compiler.compile(artifact, target, folder)
        model = compiler.load(artifact, target, folder)
    load_s = clock() - started

    def keep() -> None:
        if cache and entry is None:
            cache.keep(inputs, folder, load_s)

    return Prepared(
        model=model,
        artifact=artifact,
        target=target,
        compile_s=None if is_identity else entry.compile_s if entry else load_s,
        load_s=load_s,
        cached_at=entry.made_at if entry else None,
        keep=keep,
    )


def import_libraries(compiler: Compiler, *, with_torch: bool) -> None:
    """Import the compiler's libraries.

    Args:
        with_torch: import PyTorch first. Its tensors are the inputs of programs and ONNX files under every compiler.
    """
    frameworks.disable_telemetry()
    memory.keep_freed_memory()
    with frameworks.without_garbage_collection():
        for library in (*(["torch"] if with_torch else []), *compiler.libraries):
            import_module(library)


def _load_cached(
    compiler: Compiler, artifact: Artifact, target: Target, folder: Path, cache: Cache | None, inputs: dict[str, Any]
) -> tuple[CompiledModel | None, Entry | None]:
    """Load the cached model. Returns None twice if there is none, or if it no longer loads."""
    entry = cache.take(inputs, folder) if cache else None
    if cache is None or entry is None:
        return None, None
    try:
        return compiler.load(artifact, target, folder), entry
    except Exception:  # whatever is wrong with the entry, compiling again settles it
        cache.discard(entry.key)
        shutil.rmtree(folder)
        folder.mkdir(mode=0o700)
        return None, None
