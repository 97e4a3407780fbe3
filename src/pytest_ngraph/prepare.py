"""From an artifact to a compiled model that is known to give the right outputs."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from pytest_ngraph import compilers
from pytest_ngraph.artifact import Artifact, Target
from pytest_ngraph.case import IDENTITY, Case, CompilerSpec
from pytest_ngraph.clock import Clock
from pytest_ngraph.compilers import CompiledModel
from pytest_ngraph.record import Agreement, Phase
from pytest_ngraph.verify import verify

Announce = Callable[[Phase], None]
"""Told each phase as it begins."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A compiled model, how long it took to be ready to run, and whether its outputs agree with the reference."""

    model: CompiledModel
    compile_s: float | None
    agreement: Agreement


def prepare(
    case: Case,
    artifact: Artifact,
    target: Target,
    folder: Path,
    announce: Announce,
    clock: Clock = time.perf_counter,
) -> Prepared:
    """Compile the artifact into `folder`, load it and compare the outputs of what will be timed.

    Importing the compiler's libraries, seconds that a process pays once, does not count as compiling.
    """
    announce("compile")
    compiler = compilers.resolve(case.compiler)
    for library in compiler.libraries:
        import_module(library)
    started = clock()
    compiler.compile(artifact, target, folder)
    model = compiler.load(artifact, target, folder)
    compile_s = clock() - started
    announce("verify")
    agreement = verify(model.outputs(), artifact.reference(), target.precision)
    compiles = CompilerSpec.parse(case.compiler).name != IDENTITY
    return Prepared(model=model, compile_s=compile_s if compiles else None, agreement=agreement)
