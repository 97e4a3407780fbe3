"""Compile an artifact into a model, and verify the outputs of that model."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from pytest_ngraph import compilers
from pytest_ngraph.artifact import Artifact, Target
from pytest_ngraph.case import Case
from pytest_ngraph.clock import Clock
from pytest_ngraph.compilers import CompiledModel, Compiler, program
from pytest_ngraph.errors import Unsupported
from pytest_ngraph.machine import provenance, source_files
from pytest_ngraph.machine.source_files import FilesRead
from pytest_ngraph.record import DRAWN, HIDDEN, RANDOM, STATE, Agreement
from pytest_ngraph.system import garbage
from pytest_ngraph.system.installed import variables
from pytest_ngraph.worker import memory
from pytest_ngraph.worker.cache import Cache, Entry
from pytest_ngraph.worker.cold_start import ColdStart, Job, Loaded
from pytest_ngraph.worker.memory import Footprint
from pytest_ngraph.worker.priming import prime
from pytest_ngraph.workloads import telemetry
from pytest_ngraph.workloads.verify import agreement

GIVEN = variables()
"""The variables that configure compilers as this process was started with them. PyTorch sets some of Triton's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A compiled model that is ready to run but not yet verified.

    Attributes:
        model: the model.
        artifact: what it was compiled from.
        target: what it was compiled for.
        cold_start: what a cold start takes; empty for identity.
        load_s: seconds that loading took this time.
        cached_at: when the cached artifact was compiled, in seconds since the epoch; None if it was compiled now.
        read: digests of the user's own files that were read to compile the cached artifact, by path.
        keep: puts what was compiled now into the cache.
        discard: removes from the cache what was taken from it.
    """

    model: CompiledModel
    artifact: Artifact
    target: Target
    cold_start: ColdStart
    load_s: float
    cached_at: float | None
    read: Mapping[str, str]
    keep: Callable[[], None]
    discard: Callable[[], None]

    @property
    def times(self) -> dict[str, Any]:
        """What the record says of compiling and loading, by the names of its fields."""
        return {**self.cold_start._asdict(), "load_s": self.load_s}

    @property
    def facts(self) -> dict[str, str]:
        """What the record says about the model: what it reports itself, and what verifying does not see."""
        facts = {str(name): str(value) for name, value in self.model.facts.items()}
        drawn = "; ".join(f"{name}: {what}" for name, what in self.artifact.drawn.items())
        names = {HIDDEN: self.artifact.hidden, RANDOM: self.artifact.random, STATE: self.artifact.state}
        known = {fact: ", ".join(each) for fact, each in names.items()} | {DRAWN: drawn}
        return facts | {fact: text for fact, text in known.items() if text}

    def verify(self) -> Agreement:
        """Compare the outputs of a call with the reference. The cache keeps what agrees, and nothing else."""
        found = agreement(self.model.outputs(), self.artifact, self.target.precision)
        if found.agrees:
            self.keep()
        else:
            self.discard()
        return found


def prepare(
    case: Case,
    artifact: Artifact,
    target: Target,
    folder: Path,
    cache: Cache | None = None,
    files: FilesRead | None = None,
    clock: Clock = time.perf_counter,
    footprint: Footprint | None = None,
    *,
    timed: bool = True,
) -> Prepared:
    """Compile the artifact into `folder`, or take it from the cache, and load it.

    What takes seconds only once per process does not count as compiling: importing the compiler's libraries, and what
    else the first compile does (`priming.prime`).

    Args:
        files: what this process has read; None if it is not noted.
        footprint: notes what loading the model adds; None if the process holds another model, or nobody asks.
        timed: whether the seconds that compiling takes are recorded: not beside other processes that compile.

    Raises:
        Unsupported: a library is missing, or the compiler cannot convert or run the artifact.
    """
    compiler = compilers.resolve(case.compiler)
    try:
        import_libraries(compiler, with_torch=bool(artifact.program or artifact.onnx))
    except ModuleNotFoundError as error:
        if missing := compilers.missing_library(case.compiler):
            raise Unsupported(missing) from error
        raise
    if not case.is_compiled or not artifact.digest:
        cache = None
    if footprint:
        footprint.note_libraries()
    inputs = cache_inputs(case, artifact, target) if cache else {}
    job = Job(compiler=compiler, artifact=artifact, target=target, folder=folder, clock=clock, footprint=footprint)
    cached = _load_cached(job, cache, inputs)
    if cached:
        loaded, entry = cached
        known = entry.cold_start
    else:
        if timed:
            prime(case, compiler, artifact, target)
        loaded, known = job.start()
        known = known if timed else ColdStart()

    def keep() -> None:
        if cache and not cached:
            cache.keep(inputs, folder, known, files.digests(cache.folder) if files else {})

    def discard() -> None:
        if cache and cached:
            cache.discard(entry.key)

    return Prepared(
        model=loaded.model,
        artifact=artifact,
        target=target,
        cold_start=known if case.is_compiled else ColdStart(),
        load_s=loaded.load_s,
        cached_at=entry.made_at if cached else None,
        read=entry.read if cached else {},
        keep=keep,
        discard=discard,
    )


def cache_inputs(case: Case, artifact: Artifact, target: Target) -> dict[str, Any]:
    """Return everything known before compiling that the result depends on.

    Code counts with its paths: the compiler of another tree may go on to read other files beside it. A trace of a
    module, or of a program whose sizes depend on values, holds what was done for these inputs. The digest of a module
    without a program does not show what a size decides in its code either, and that of an ONNX file shows no sizes
    where branches keep its axes open.
    """
    known = provenance.of_compiling(case, target, artifact.digest)
    if artifact.export_error:
        known |= {"sizes": case.named_sizes}
    is_of_values = artifact.export_error or artifact.data_dependent or artifact.values_decide
    if is_of_values or compilers.runs_module(case.compiler, artifact):
        known |= {"inputs": artifact.inputs_digest}
    elif artifact.onnx is not None:
        known |= {"inputs": [f"{array.dtype} {array.shape}" for array in artifact.inputs()]}
    if artifact.export_error or artifact.calls_own_code:  # the digest does not show what the user's own code does
        known |= {"files": artifact.own_files}
    return known | {"variables": GIVEN, "code": source_files.code_at_start()}


def import_libraries(compiler: Compiler, *, with_torch: bool) -> None:
    """Import the compiler's libraries.

    Args:
        with_torch: import PyTorch first. Its tensors are the inputs of programs and ONNX files under every compiler.
    """
    telemetry.disable_telemetry()
    memory.keep_freed_memory()
    with garbage.without_garbage_collection():
        for library in (*(["torch"] if with_torch else []), *compiler.libraries):
            import_module(library)


def _load_cached(job: Job, cache: Cache | None, inputs: dict[str, Any]) -> tuple[Loaded, Entry] | None:
    """Load the cached model. Returns None if there is none, or if it no longer loads."""
    entry = cache.take(inputs, job.folder) if cache else None
    if cache is None or entry is None:
        return None
    try:
        program.import_operators(job.artifact.operators)  # which compiling would have done
        return job.load(), entry
    except Exception:  # whatever is wrong with the entry, compiling again settles it
        cache.discard(entry.key)
        shutil.rmtree(job.folder)
        job.folder.mkdir(mode=0o700)
        return None
